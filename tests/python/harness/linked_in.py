"""OpenSSL linked statically into the ssl module (tests/python/build.sh makes one), or into the interpreter."""

import shutil


def by_module(context):
    """The machine's own interpreter with another module _ssl."""
    module = context.pythons / "module"
    suffix = context.ask("import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))")
    if not (module / f"_ssl{suffix}").exists():
        return "not tried: built for /usr/bin/python3"
    return by_interpreter(context, PYTHONPATH=module)


def by_interpreter(context, **variables):
    bundle = context.fresh("linked-in") / "bundle.pem"
    shutil.copyfile(context.authority.bundle, bundle)
    context.run("linked_in.py", bundle=bundle, **variables)
    context.run("shared.py", bundle=bundle, **variables)


CASES = [("OpenSSL in the module", by_module)]
# For an interpreter that has OpenSSL inside.
INSIDE = [("OpenSSL in the interpreter", by_interpreter)]

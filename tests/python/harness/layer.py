"""The layer for AWS Lambda, unpacked in /opt of a mount namespace, with a function that knows nothing of it."""

import json
import os
import subprocess
import sys
import zipfile

from context import PROGRAMS, ROOT

# Lambda has none of this machine's compiled stores.
WITHOUT = (ROOT / "tests/stores.sh", "without", "unshare", "--mount", "--propagation", "private")
# $1 comes to /opt, $2 to the path $3 of the trust bundle.
ENTER = 'mount --bind "$1" /opt && mount --bind "$2" "$3" && shift 3 && exec "$@"'


def layer(context):
    if os.geteuid() != 0:
        return "not tried: only root may mount"
    folder = context.fresh("layer")
    cafile = context.ask("import ssl; print(ssl.get_default_verify_paths().openssl_cafile)", context.interpreter)
    if not os.path.exists(cafile):
        return f"not tried: this interpreter's trust bundle {cafile} does not exist here"
    opt = unpacked(made(context, folder, cafile), folder / "opt")

    def invoked(bundle, user=0, **variables):
        """What the function says, and the runtime in which it runs."""
        inside = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", context.interpreter,
                  PROGRAMS / "clients" / "runtime.py"]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LAMBDA_TASK_ROOT": str(PROGRAMS),
                       "_HANDLER": "function.handler", "CHAIN": str(context.authority.chain),
                       "OTHER_BUNDLE": str(context.authority.other), "PYTHONDONTWRITEBYTECODE": "1", **variables}
        ended = subprocess.run([*WITHOUT, "sh", "-c", ENTER, "sh", opt, bundle, os.path.realpath(cafile), *inside],
                               env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        assert ended.returncode == 0 and ended.stderr == "", ended
        return json.loads(ended.stdout)

    trusting, other = context.authority.bundle, context.authority.other
    by_content, stale = "cache/compiled-by-content", "cache/compiled-stale"
    for bundle, expected, counter in ((trusting, [True, False, False], by_content), (other, [False] * 3, stale)):
        stock = invoked(bundle, WINDLASS_AUTO="0")
        assert stock["verdicts"] == expected and stock["state"] is None, stock
        for user in (0, 1000):
            said = invoked(bundle, user, WINDLASS_STORE="/opt/windlass")
            assert (said["verdicts"], said["anchors"]) == (expected, stock["anchors"]), said
            assert said["state"] == "attached" and said["counters"].get(counter, 0) == 1, said
            said = invoked(bundle, user)
            assert (said["verdicts"], said["anchors"]) == (expected, stock["anchors"]), said
            assert said["state"] == "attached" and not {by_content, stale} & set(said["counters"]), said
    # A compiled store that others could have written is not used.
    (opt / "windlass").chmod(0o777)
    said = invoked(trusting, WINDLASS_STORE="/opt/windlass")
    assert said["verdicts"] == [True, False, False] and by_content not in said["counters"], said
    return None


def made(context, folder, cafile):
    """The layer for an image that has the test's bundle where this interpreter looks for it."""
    image, made = folder / "image", folder / "layer.zip"
    there = image / cafile.lstrip("/")
    there.parent.mkdir(parents=True)
    there.write_bytes(context.authority.bundle.read_bytes())
    subprocess.run([sys.executable, "-B", ROOT / "python" / "layer.py", context.library.parent / "windlass",
                    context.wheels, made, "--root", image, cafile], check=True, stdout=subprocess.DEVNULL)
    assert [path.relative_to(image) for path in image.rglob("*") if path.is_file()] == [there.relative_to(image)]
    return made


def unpacked(layer, folder):
    """With the modes that the zip gives, as Lambda unpacks it."""
    folder.mkdir()
    with zipfile.ZipFile(layer) as files:
        for entry in files.infolist():
            files.extract(entry, folder)
            (folder / entry.filename).chmod(entry.external_attr >> 16 & 0o7777)
    return folder


CASES = [("layer", layer)]

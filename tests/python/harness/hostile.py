"""Where attaching is forbidden or useless: a clear status, nothing raised, and the program as before."""

import os
import shutil
import subprocess

from context import PROGRAMS


def package(context, name):
    """A folder with a copy of the installed package, without an environment."""
    folder = context.fresh(name)
    source = context.ask("import windlass; print(windlass.__path__[0])")
    shutil.copytree(source, folder / "windlass")
    return folder


def audit_hook(context):
    for event in ("ctypes.dlopen", "ctypes.dlsym", "ctypes.call_function"):
        context.run("forbidden.py", event, "unavailable")
    # What is attached stays so.
    context.run("forbidden.py", "late ctypes.dlopen", "already")
    context.run("forbidden.py", "late ctypes.call_function", "unavailable")
    # Not even the module can be imported.
    program = ("import sys\n"
               "def hook(event, arguments):\n"
               "    if event == 'import' and arguments[0] in ('ctypes', '_ctypes'): raise RuntimeError('forbidden')\n"
               "sys.addaudithook(hook)\n"
               "import windlass\n"
               "assert windlass.attach() == 'unavailable' and 'forbidden' in windlass.status().reason\n")
    context.run("-c", program)


def seccomp(context):
    if os.uname().machine != "x86_64":
        return "not tried: the numbers of the calls are those of x86-64"
    context.run("forbidden.py", "seccomp openat", "unavailable")
    context.run("forbidden.py", "seccomp mprotect", "unavailable")
    # The library can be loaded, but no import table be written: its calls are not seen.
    said = context.run("forbidden.py", "seccomp mprotect write", "attached")
    assert "can't see it" in said, said
    return None


def interposers(context):
    notes = []
    results = ("attached", "unavailable", "failed")
    for function in ("dlopen", "dlsym", "dl_iterate_phdr", "X509_STORE_new", "mprotect"):
        for fails in ((), ("-DFAILS",)):
            if fails and function == "X509_STORE_new":
                continue
            library = context.fresh("interposer") / "interposer.so"
            subprocess.run(["gcc", "-shared", "-fPIC", f"-DFUNCTION={function}", *fails, "-o", library,
                            PROGRAMS / "interposer.c", "-ldl"], check=True)
            stock = subprocess.run([context.interpreter, "-c", "import ssl; ssl.create_default_context()"], check=False,
                                   env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": str(library)})
            if stock.returncode != 0:
                notes.append(f"{function}: stock Python ends with status {stock.returncode}")
                continue
            said = context.run("beside.py", *results, LD_PRELOAD=library)
            notes.append(f"{function}{' fails' if fails else ''}: {said.split(';')[0]}")
            # The same with this library in front of it.
            context.run("beside.py", "already", *results, LD_PRELOAD=f"{library}:{context.library}")
    return ", ".join(notes)


def older_windlass(context):
    """One that came with LD_PRELOAD and has no function that tells its state: no second one is loaded."""
    library = context.fresh("older") / "libwindlass_preload.so"
    content = context.library.read_bytes()
    assert b"\0windlass_preload_state\0" in content
    library.write_bytes(content.replace(b"\0windlass_preload_state\0", b"\0windlass_preload_stat_\0"))
    program = "import windlass; print(windlass.attach(), windlass.status().reason, open('/proc/self/maps').read())"
    said = context.run("-c", program, LD_PRELOAD=library)
    assert said.startswith("unavailable ") and "another version of Windlass" in said, said
    assert str(library) in said and "site-packages" not in said.replace(str(library), ""), said


def options(context):
    """-I, -E and -S."""
    site = context.ask("import windlass; print(windlass.__path__[0])") + "/.."
    program = "import sys; sys.path.append(sys.argv[1]); import windlass; print(windlass.attach())"
    for option in ("-I", "-E", "-S", "-IS"):
        assert context.run(option, "-c", program, site) == "attached\n", option


def archive(context):
    folder = package(context, "archive")
    (folder / "__main__.py").write_text(
        "import windlass\n"
        "assert windlass.attach() == 'unavailable', windlass.status()\n"
        "assert 'archive' in windlass.status().reason, windlass.status()\n"
        "assert windlass.detach() == 'detached'\n"
        "print(windlass.shared_context().verify_mode)\n")
    context.run("-m", "zipapp", folder, "-o", folder.parent / "app.pyz")
    said = context.run("-E", folder.parent / "app.pyz", python=context.interpreter)
    assert "CERT_REQUIRED" in said or "2" in said, said
    # A module that is frozen into a program has no file.
    program = ("import sys, types\n"
               "folder, package = sys.argv[1], types.ModuleType('windlass')\n"
               "package.__path__ = []\n"
               "sys.modules['windlass'] = package\n"
               "library = types.ModuleType('windlass._library')\n"
               "library.__package__ = 'windlass'\n"
               "exec(open(folder + '/windlass/_library.py').read(), library.__dict__)\n"
               "assert library.attach() == 'unavailable' and 'archive' in library.failure, library.failure\n")
    context.run("-c", program, folder, python=context.interpreter)


def other_machine(context):
    folder = package(context, "machine")
    library = folder / "windlass/libwindlass_preload.so"
    whole = library.read_bytes()
    # ELF: e_machine. AArch64, RISC-V, and a number that nobody has.
    for machine in (183, 243, 0xFFFE):
        library.write_bytes(whole[:18] + machine.to_bytes(2, "little") + whole[20:])
        context.run("says.py", "unavailable", str(library), python=context.interpreter, PYTHONPATH=folder)
    library.write_bytes(whole)
    # Another C library answers like this where glibc tells its version.
    program = ("import os\n"
               "def confstr(name): raise ValueError('unrecognized configuration name')\n"
               "os.confstr = confstr\n"
               "import windlass\n"
               "assert windlass.attach() == 'unavailable' and 'not glibc' in windlass.status().reason\n")
    context.run("-c", program, python=context.interpreter, PYTHONPATH=folder)


def mounts(context):
    """No /proc, a read-only file system, and one from which nothing can be executed."""
    if os.geteuid() != 0:
        return "not tried: only root may mount"
    folder = package(context, "mounts")

    def within(commands, *arguments, **variables):
        shell = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", f"{commands}\nexec \"$@\"", "sh"]
        return context.run(*arguments, before=shell, python=context.interpreter, PYTHONPATH=folder, **variables)

    bind = f"mount --bind {folder} {folder}; mount -o remount,bind"
    without = "mount -t tmpfs none /proc"
    # Without it nobody can tell whether ctypes was used before.
    assert "attached; 0; 3; " in within(without, "beside.py", "attached")
    within(without, "-m", "windlass", "doctor")
    assert "attached; 3" in within(f"{bind},ro {folder}", "beside.py", "attached")
    assert "unavailable" in within(f"{bind},noexec {folder}", "beside.py", "unavailable")
    return None


CASES = [
    ("an audit hook", audit_hook),
    ("a seccomp filter", seccomp),
    ("interposers beside", interposers),
    ("an older Windlass beside", older_windlass),
    ("options -I, -E, -S", options),
    ("inside of an archive", archive),
    ("another machine", other_machine),
    ("mounts", mounts),
]

"""The cases: a name, and what is done."""

import json
import os
import pathlib
import shutil
import subprocess


def attached(context):
    context.run("attached.py")


def attached_late(context):
    context.run("attached_late.py")


def preloaded(context):
    context.run("says.py", "already", LD_PRELOAD=context.library)


def disabled(context):
    context.run("says.py", "disabled", "WINDLASS_DISABLE", WINDLASS_DISABLE=1)


def audited(context):
    # The linker says that it can't load this auditor, and goes on.
    said = subprocess.run([context.python, "-c", "import windlass; print(windlass.attach())"],
                          env={"LD_AUDIT": "/nonexistent/auditor.so"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=True)
    assert said.stdout == "audited\n", said


def secure_execution(context):
    """A copy of the interpreter with a capability, run by another user."""
    prefix = context.ask("import sys; print(sys.base_prefix)")
    if os.geteuid() != 0 or not others_may_read(prefix):
        return "not tried: only root may read this interpreter, or is this root?"
    folder = context.fresh("secure")
    python = folder / "python"
    shutil.copyfile(os.path.realpath(context.python), python)
    python.chmod(0o755)
    subprocess.run(["setcap", "cap_net_raw+ep", python], check=True)
    packages = context.ask("import windlass; print(windlass.__path__[0])") + "/.."
    program = "import sys; sys.path.insert(0, sys.argv[1]); import windlass; print(windlass.attach())"
    said = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", python, "-c", program,
                           packages], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          env={"PYTHONHOME": prefix, "PATH": "/usr/bin:/bin"})
    assert said.stdout == "secure-execution\n", said
    return None


def others_may_read(path):
    parents = [path, *pathlib.Path(path).parents]
    return all(os.stat(parent).st_mode & 0o005 == 0o005 for parent in parents)


def unavailable(context):
    """The library is damaged: a clear answer, and the program runs as before."""
    python = context.environment("damaged", "windlass-")
    library = pathlib.Path(context.ask("from windlass import _library; print(_library.PATH)", python))
    whole = library.read_bytes()
    # The linker maps a file that is cut off, and the process would die of SIGBUS.
    for content in (b"", b"not a library\n", whole[:64], whole[:100_000], whole[:-1], b"\x7fELF" + bytes(1000)):
        library.write_bytes(content)
        context.run("says.py", "unavailable", str(library), python=python)
    library.unlink()
    context.run("says.py", "unavailable", str(library), python=python)


def auto(context):
    program = ("import ssl, windlass; ssl.create_default_context(); status = windlass.status(); "
               "print(status.state, sum(status.served.values()))")
    assert context.run("-c", program, python=context.auto) == "attached 1\n"
    assert context.run("-c", program, python=context.auto, WINDLASS_AUTO=0) == "not loaded 0\n"
    assert context.run("-S", "-c", "print('started')", python=context.auto) == "started\n"
    assert context.run("-m", "pip", "--version", python=context.auto).startswith("pip ")


def auto_damaged(context):
    """Whatever is wrong with the package, Python starts and says nothing of it."""
    python = context.environment("auto-damaged", "windlass-", "windlass_auto-")
    library = pathlib.Path(context.ask("from windlass import _library; print(_library.PATH)", python))
    for damage in (lambda: library.write_bytes(b"\x7fELF"), library.unlink,
                   lambda: (library.parent / "_library.py").write_text("raise RuntimeError('broken')\n"),
                   lambda: shutil.rmtree(library.parent)):
        damage()
        assert context.run("-c", "import ssl; print('started')", python=python) == "started\n"


def run_command(context):
    folder = context.fresh("run")
    (folder / "beside.py").write_text("VALUE = 7\n")
    (folder / "app.py").write_text(
        "import sys, ssl, beside, windlass\n"
        "ssl.create_default_context()\n"
        "print(__name__, sys.argv[1:], sys.argv[0] == __file__, beside.VALUE, windlass.status().served)\n"
        "sys.exit(int(sys.argv[1]))\n")
    said = context.run("-m", "windlass", "run", folder / "app.py", "3", "--help", "-m", status=3)
    assert said == "__main__ ['3', '--help', '-m'] True 7 {'X509_STORE_set_default_paths': 1}\n", said
    said = context.run("-m", "windlass", "run", "-m", "json.tool", "--help")
    assert "json" in said, said
    said = context.run("-m", "windlass", "run", folder / "missing.py", status=2)
    assert said.startswith("usage: ") and said.endswith("missing.py: no such file\n"), said
    # What can't be run, in the words of `python` and with its status.
    (folder / "package").mkdir()
    (folder / "package/__init__.py").touch()
    (folder / "needs.py").write_text("import nomod\n")
    (folder / "asks.py").write_text("import runpy\nrunpy.run_module('nomod')\n")
    for what in (["-m", "nomod"], ["-m", "nomod.sub"], ["-m", "json.nomod"], ["-m", "package"], ["-m", ".x"],
                 ["-m", "math"], [folder], [folder / "package"]):
        said, stock = (context.run(*words, *what, status=1, PYTHONPATH=folder) for words in (["-m", "windlass", "run"],
                                                                                            []))
        assert said.count("\n") == 1 and said.startswith(f"{context.python}: "), said
        assert said.split(": ", 1)[1] == stock.split(": ", 1)[1], (said, stock)
    # The program's own faults look as they do.
    for module in ("needs", "asks"):
        said = context.run("-m", "windlass", "run", "-m", module, status=1, PYTHONPATH=folder)
        assert said.startswith("Traceback") and f"{module}.py" in said, said
    assert "usage" in context.run("-m", "windlass", status=2)


def doctor(context):
    said = json.loads(context.run("-m", "windlass", "doctor", "--json"))
    row = next(row for row in said["modules"] if row["module"] == "ssl")
    assert said["attach"] == "attached" and row["reached"] and "libssl" in row["library"], said
    assert "ssl " in context.run("-m", "windlass", "doctor")
    said = json.loads(context.run("-m", "windlass", "doctor", "--json", status=1, WINDLASS_DISABLE=1))
    assert said["attach"] == "disabled" and not said["modules"][0]["reached"], said
    # Another module with OpenSSL inside is told as such.
    folder = context.fresh("doctor")
    (folder / "pycurl.c").write_text("int SSL_CTX_new(void) { return 0; }\n"
                                     "void *PyInit_pycurl(void) { extern void *PyModule_New(const char *); "
                                     "extern void *PyModule_Create2(void *, int); "
                                     "static long definition[20] = {1}; definition[NAME] = (long)\"pycurl\"; "
                                     "return PyModule_Create2(definition, 1013); }\n")
    # PyModuleDef.m_name: a free-threaded object has a larger head.
    name = context.ask("import sysconfig; print(7 if sysconfig.get_config_var('Py_GIL_DISABLED') else 5)")
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", f"-DNAME={name}", "-o", folder / "pycurl.so", folder / "pycurl.c"],
                   check=True)
    # A free-threaded Python warns of such a module.
    said = json.loads(context.run("-m", "windlass", "doctor", "--json", PYTHONPATH=folder, PYTHONWARNINGS="ignore"))
    row = next(row for row in said["modules"] if row["module"] == "pycurl")
    assert not row["reached"] and "statically into" in row["why_not"], said


def program(name, *arguments):
    return lambda context: context.run(name, *arguments) and None


def shared(context):
    bundle = context.fresh("shared") / "bundle.pem"
    shutil.copyfile(context.authority.bundle, bundle)
    context.run("shared.py", bundle=bundle)


def interpreters(context):
    if context.ask("import sys; print(sys.implementation.name)") != "cpython":
        return "this Python has none"
    # CPython 3.12.1 dies of a double free when a sub-interpreter that has imported ssl ends.
    with_ssl = context.survives("interpreters.py", "stock")
    context.run("interpreters.py", *["ssl"] if with_ssl else [])
    return None if with_ssl else "without ssl in them: stock Python dies of it"


def free_threaded(context):
    """Importing the package and attaching don't bring the global lock back."""
    if context.ask("import sys; print(getattr(sys, '_is_gil_enabled', lambda: True)())") == "True":
        return "this Python has the lock"
    context.run("-W", "error", "-c", "import sys, ssl, windlass\n"
                "assert windlass.attach() == 'attached'\n"
                "windlass.shared_context(), windlass.status()\n"
                "assert not sys._is_gil_enabled()\n")
    return None


CASES = [
    ("attached", attached),
    ("attached in the middle", attached_late),
    ("with LD_PRELOAD", preloaded),
    ("switched off", disabled),
    ("LD_AUDIT", audited),
    ("secure execution", secure_execution),
    ("a damaged library", unavailable),
    ("fork, spawn, forkserver", program("processes.py")),
    ("threads", program("threads.py", 5)),
    ("asyncio", program("asynchronous.py")),
    ("sub-interpreters", interpreters),
    ("free-threaded", free_threaded),
    ("shared context", shared),
    ("windlass-auto", auto),
    ("windlass-auto, damaged", auto_damaged),
    ("python -m windlass run", run_command),
    ("python -m windlass doctor", doctor),
]

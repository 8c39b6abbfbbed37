"""Rows of the Python package: attached from inside a running Python, without LD_PRELOAD."""

import shutil
import subprocess

import peers_build
from measure import Row, alternate, joined, median, ratio, run, run_json
from rows import PYTHON
from server import Server

OBJECTS, CLIENTS = 300, 200


def package(world):
    """A folder with the package, unpacked from the wheel that python/build.py makes."""
    folder = world.folder / "package"
    if not folder.exists():
        root = world.programs.parent.parent
        wheels = world.library.parent.parent / "wheels"
        run([PYTHON, "-B", root / "python/build.py", world.library, wheels])
        run([PYTHON, "-m", "zipfile", "-e", next(wheels.glob("windlass-*.whl")), folder])
        # As pip leaves it: compiled.
        run([PYTHON, "-m", "compileall", "-q", folder])
    return {"PYTHONPATH": folder}


def attached_context(world):
    """As `context`, attached in place of preloaded."""
    program, lives, env = world.programs / "context.py", world.count(40), package(world)
    stock, ours = alternate(world.count(8), lambda: run_json([PYTHON, program, lives // 4 + 1]),
                            lambda: run_json([PYTHON, program, lives * 5, "attach"], env))
    windlass, limit = joined(ours, "verifying"), joined(ours, "unverified")
    return [Row("attached context", "us", joined(stock, "verifying"), limit, windlass, ratio(windlass, limit), 1.15,
                "as `context`, attached by `windlass.attach()` in place of LD_PRELOAD")]


def attach(world):
    """Milliseconds that attaching takes, in a fresh interpreter, and in one with many objects."""
    env, many = package(world), world.folder / "objects"
    many.mkdir(exist_ok=True)
    source = world.programs / "import.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", many / "0.so", source, "-lssl", "-lcrypto"], check=True)
    for number in range(1, OBJECTS):
        # Another file is another object.
        shutil.copyfile(many / "0.so", many / f"{number}.so")
    few, slots = alternate(world.count(40), lambda: taken(world, env), lambda: taken(world, env, many))
    return [Row("attach", "ms", [], [], few, median(few), 5, "`import windlass; windlass.attach()` of a fresh Python"),
            Row("attach, 300 objects", "ms", [], [], slots, median(slots), 5,
                f"`windlass.attach()` in a Python with {OBJECTS} objects that import hooked functions")]


def fresh_sessions(world):
    """requests with a fresh Session for each GET."""
    python = clients(world)
    with Server(world.folder / "requests-server") as server:
        program = [python, world.programs / "requests_get.py"]
        trust, env = [server.url, server.bundle], package(world)
        stock, ours = alternate(world.count(4), lambda: run_json([*program, world.count(25), *trust]),
                                lambda: run_json([*program, world.count(250), *trust, "attach"], env))
    stock, windlass, limit, bare = joined(stock, "fresh"), *(joined(ours, side) for side in ("fresh", "shared", "bare"))
    return [Row("requests", "us", stock, limit, windlass, ratio(windlass, limit), 1.10,
                "requests, attached: GET with a fresh Session / with one context that is shared by hand"),
            Row("requests, with a bare context", "us", stock, bare, windlass, ratio(windlass, bare), None,
                "the same / with the shared context, and a fresh one made and not used, which loads nothing")]


def httpx_memory(world):
    """PSS of a process with many httpx clients, that verify and that do not."""
    python, program, env = clients(world), world.programs / "httpx_memory.py", package(world)
    rows = []
    with Server(world.folder / "httpx-server") as server:
        trust = {"SSL_CERT_FILE": server.bundle}
        for name, bar, url, how in (("httpx memory", 1.10, [], "made and kept"),
                                    ("httpx memory, after a GET", None, [server.url], "kept after a GET of each")):
            def kept(*how, env=None):
                return lambda: run_json([python, program, CLIENTS, *how, *url], {**trust, **(env or {})})

            sides = alternate(world.count(5), kept("verify"), kept("unverified"), kept("attach", env=env))
            stock, limit, windlass = ([sample["pss"] for sample in side] for side in sides)
            uss = {f"USS, {side}": [sample["uss"] for sample in of]
                   for side, of in zip(("stock", "limit", "Windlass"), sides)}
            rows.append(Row(name, "KiB", stock, limit, windlass, ratio(windlass, limit), bar,
                            f"PSS of a fresh Python with {CLIENTS} httpx clients, {how}: attached / with verify=False",
                            extra=uss))
    return rows


def clients(world):
    """An interpreter with the clients that the tests use, too."""
    return peers_build.packages(world.programs.parents[1] / "tests" / "python" / "clients.txt",
                                world.library.parent.parent / "bench" / "clients")


def taken(world, env, *folder):
    return float(run([PYTHON, world.programs / "attach.py", *folder], env))


ROWS = {"attached-context": attached_context, "attach": attach, "requests": fresh_sessions,
        "httpx-memory": httpx_memory}

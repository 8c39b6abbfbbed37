"""The program is not to feel that it is traced; and --compare."""

import signal
import time

from sides import Side
from tracer import check, equal

LOADS = "import ssl, sys, os\nssl.create_default_context(cafile=sys.argv[1])\n"


def cases(world):
    yield "runs: streams and exit status", lambda: streams(world)
    yield "runs: a signal ends it", lambda: ended(world)
    yield "runs: a signal is passed on", lambda: passed_on(world)
    yield "runs: a signal to the whole group", lambda: to_all(world)
    yield "runs: nothing is left", lambda: nothing_left(world)
    yield "runs: the program removes the events", lambda: removed(world)
    yield "runs: Windlass is off while it traces", lambda: off(world)
    yield "runs: _exit, and a forked child", lambda: forked(world)
    yield "runs: --compare runs both sides", lambda: compared(world)
    yield "runs: --compare sees that the endings differ", lambda: endings(world)


def python(text, *arguments):
    return ["/usr/bin/python3", "-c", text, *arguments]


def streams(world):
    text = LOADS + "print('out'); print('err', file=sys.stderr); print(sys.stdin.read()); sys.exit(7)"
    argv = python(text, world.pki.bundle)
    traced = world.trace(argv, stdin="input\n")
    equal((traced.status, traced.stdout, traced.stderr), world.stock(argv, stdin="input\n"), "status and streams")
    equal((traced.status, traced.report["exit_status"]), (7, 7), "status")


def ended(world):
    traced = world.trace(python(LOADS + "os.kill(os.getpid(), 9)", world.pki.bundle))
    equal((traced.status, traced.report["signal"], traced.report["exit_status"]), (-9, 9, None), "signal")
    equal((traced.report["summary"]["loads"], traced.report["processes"][0]["ended"]), (1, False), "loads before its end")


def passed_on(world):
    ready = world.fresh() / "ready"
    text = LOADS + f"import time\nopen({str(ready)!r}, 'w').close()\ntime.sleep(300)"
    report = world.fresh() / "report.txt"
    argv = [world.windlass, "trace", "--output", report, "--", *python(text, world.pki.bundle)]
    with Side().start(argv, world.environment(None)) as started:
        deadline = time.monotonic() + 120
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        result = started.stop(signal.SIGTERM)
    equal(result.status, -signal.SIGTERM, "ended as the program did")
    check("1 load of CA certificates" in report.read_text(), report.read_text())


def to_all(world):
    """What the program's whole group gets while it ends does not keep the report from being made."""
    for name in ("SIGINT", "SIGUSR2"):
        traced = world.trace(python(LOADS + f"import signal\nsignal.signal(signal.{name}, signal.SIG_DFL)\n"
                                    f"os.killpg(0, signal.{name})", world.pki.bundle))
        equal((traced.status, traced.report["summary"]["loads"]), (-getattr(signal, name), 1), f"{name}: ending, and loads")


def nothing_left(world):
    folder = world.fresh()
    text = LOADS + "print(sorted(os.listdir(os.environ['TMPDIR'])), os.environ['WINDLASS_TRACE'])"
    traced = world.trace(python(text, world.pki.bundle), {"TMPDIR": folder})
    check("windlass-trace-" in traced.stdout, "the events are in TMPDIR: " + traced.stdout)
    equal(list(folder.iterdir()), [], "files that are left")
    world.trace(["/bin/true"], {"TMPDIR": folder}, options=("--compare=1",))
    equal(list(folder.iterdir()), [], "files that are left by --compare")


def removed(world):
    """The program removes the file of the events, and with it all that would be recorded later."""
    text = LOADS + ("path = os.environ['WINDLASS_TRACE']\nos.unlink(path)\nos.rmdir(os.path.dirname(path))\n"
                    "ssl.create_default_context(cafile=sys.argv[1])\nsys.exit(5)")
    traced = world.trace(python(text, world.pki.bundle))
    equal((traced.status, traced.report["summary"]["loads"]), (5, 1), "status, and loads before that")


def off(world):
    """Under `windlass run`, what the program would do by itself is traced all the same."""
    out = world.fresh() / "report.json"
    argv = [world.windlass, "run", "--", world.windlass, "trace", "--json", out, "--output", "/dev/null", "--",
            *python(LOADS, world.pki.bundle)]
    equal(world.stock(argv)[0], 0, "status")
    check(f'"certificates": {world.pki.count}' in out.read_text(), "all were parsed: " + out.read_text()[:800])


def forked(world):
    text = LOADS + ("if os.fork() == 0:\n    ssl.create_default_context(cafile=sys.argv[1])\n    os._exit(0)\n"
                    "os.wait()\nssl.create_default_context(cafile=sys.argv[1])")
    report = world.trace(python(text, world.pki.bundle)).report
    loads = sorted(process["loads"] for process in report["processes"])
    equal((loads, report["summary"]["loads"]), ([1, 2], 3), "loads of parent and child")
    parent = next(process for process in report["processes"] if process["loads"] == 2)
    child = next(process for process in report["processes"] if process["loads"] == 1)
    equal((child["ppid"], child["ended"], parent["ended"]), (parent["pid"], False, True), "the child is the parent's")
    check(any("without a word" in note for note in report["notes"]), report["notes"])


def compared(world):
    seen = world.fresh() / "seen"
    text = LOADS + (f"maps = open('/proc/self/maps').read()\nlibraries = [name for name in ('trace', 'preload') if f'windlass_{{name}}' in maps]\n"
                    f"print(libraries, sys.stdin.read(), file=open({str(seen)!r}, 'a'))\nprint('once')")
    traced = world.trace(python(text, world.pki.bundle), options=("--compare=3",), stdin="input")
    equal(traced.stdout, "once\n", "what the measured runs print is thrown away")
    runs = seen.read_text().splitlines()
    equal(sorted(runs), sorted(["['trace'] input"] + ["[] "] * 3 + ["['preload'] "] * 3), "runs")
    # In turns, and not always the same first.
    equal(runs[1:], ["[] ", "['preload'] ", "['preload'] ", "[] ", "[] ", "['preload'] "], "order")
    comparison = traced.report["comparison"]
    equal((comparison["runs"], comparison["endings_differ"]), (3, False), "comparison")
    for side in ("stock", "windlass"):
        equal(len(comparison[side]["samples"]), 3, side)
        for what in ("wall", "cpu", "peak_rss"):
            values = sorted(sample[what] for sample in comparison[side]["samples"])
            equal(comparison[side][what], values[1], f"median of {what}")
            check(values[0] > 0, f"{what} is measured")
    check("Measured: 3 runs of each" in traced.text and "medians of 3 runs" in traced.page.read_text(), traced.text)


def endings(world):
    text = "import sys; sys.exit('windlass_preload' in open('/proc/self/maps').read())"
    traced = world.trace(python(text), options=("--compare=1",))
    equal((traced.status, traced.report["comparison"]["endings_differ"]), (0, True), "endings")
    statuses = {side: traced.report["comparison"][side]["samples"][0]["exit_status"] for side in ("stock", "windlass")}
    equal(statuses, {"stock": 0, "windlass": 1}, "exit statuses")
    check("Not all runs ended alike" in traced.text and "Not all runs ended alike" in traced.page.read_text(), traced.text)

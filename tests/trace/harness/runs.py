"""The program is not to feel that it is traced; and --compare."""

import json
import os
import re
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
    yield "runs: a process that outlives the program", lambda: outlived(world)
    if os.geteuid() == 0:
        yield "runs: a process that goes on as another user", lambda: other_user(world)
        yield "runs: processes of the same number", lambda: namespaces(world)
    yield "runs: a relative path", lambda: relative(world)
    yield "runs: under windlass run", lambda: under_run(world)
    yield "runs: the program removes a report", lambda: report_removed(world)
    yield "runs: --compare, with input", lambda: with_input(world)
    yield "runs: --compare after a signal", lambda: after_signal(world)
    yield "runs: --compare is stopped", lambda: stopped(world)
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
    equal((traced.report["summary"]["loads"], traced.report["processes"][0]["ended"]), (1, False),
          "loads before its end")


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
        equal((traced.status, traced.report["summary"]["loads"]), (-getattr(signal, name), 1),
              f"{name}: ending, and loads")


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
    check(any("ended abruptly" in note for note in report["notes"]), report["notes"])


def compared(world):
    seen = world.fresh() / "seen"
    # More memory than the process that measures has, however that was built.
    text = LOADS + "large = b'x' * (64 << 20)\n" + (f"maps = open('/proc/self/maps').read()\nlibraries = [name for "
                                                    f"name in ('trace', 'preload') if f'windlass_{{name}}' in maps]\n"
                    f"print(libraries, sys.stdin.read(), file=open({str(seen)!r}, 'a'))\nprint('once')")
    traced = world.trace(python(text, world.pki.bundle), options=("--compare=3",), stdin="input")
    equal(traced.stdout, "once\n", "what the measured runs print is thrown away")
    runs = seen.read_text().splitlines()
    equal(sorted(runs), sorted(["['trace'] input", "['trace'] "] + ["[] "] * 3 + ["['preload'] "] * 3), "runs")
    # In turns, and not always the same first. Before them it is seen whether they do the same work.
    equal(runs[1:], ["['trace'] ", "[] ", "['preload'] ", "['preload'] ", "[] ", "[] ", "['preload'] "], "order")
    comparison = traced.report["comparison"]
    found = tuple(comparison[name] for name in ("runs", "endings_differ", "loads", "loads_differ", "input_differs"))
    equal(found, (3, False, 1, False, True), "comparison")
    ratios = 0
    for row, name in [("wall time", "wall"), ("CPU time", "cpu"), ("peak memory", "peak_rss")]:
        stock, windlass = ([sample[name] for sample in comparison[side]["samples"]] for side in ("stock", "windlass"))
        overlap = max(min(stock), min(windlass)) <= min(max(stock), max(windlass))
        # A ratio of runs that overlap may be chance. How far apart they are, the machine's other work decides.
        equal(bool(re.search(rf"^{row} .* %$", traced.text, re.M)), not overlap, f"a ratio of {row}: {traced.text}")
        check(overlap <= ("No ratio is shown for" in traced.text), traced.text)
        ratios += not overlap
    equal(traced.page.read_text().count(" of stock</span>"), ratios, "ratios on the page")
    for side in ("stock", "windlass"):
        equal(len(comparison[side]["samples"]), 3, side)
        for what in ("wall", "cpu", "peak_rss"):
            values = sorted(sample[what] for sample in comparison[side]["samples"])
            equal(comparison[side][what], values[1], f"median of {what}")
            check(values[0] > 0, f"{what} is measured")
    check("Measured: 3 runs of each" in traced.text and "medians of 3 runs" in traced.page.read_text(), traced.text)


def outlived(world):
    """A child that goes on is not waited for, and has not "ended abruptly"."""
    ready, end = world.fresh() / "ready", world.fresh() / "end"
    text = LOADS + (f"import time\nopen({str(ready)!r}, 'w').close()\n"
                    f"while not os.path.exists({str(end)!r}): time.sleep(0.05)")
    script = world.fresh() / "app.py"
    script.write_text(text)
    wait = f"while ! [ -e {ready} ]; do sleep 0.05; done"
    try:
        traced = world.trace(["/bin/sh", "-c",
                              f"/usr/bin/python3 {script} {world.pki.bundle} >/dev/null 2>&1 & {wait}"])
    finally:
        end.touch()
    [process] = [process for process in traced.report["processes"] if process["loads"]]
    equal((process["running"], process["ended"]), (True, False), "running, ended")
    check("1 process was still running when PROGRAM ended" in traced.text, traced.text)
    check("loading process ended" not in traced.text, traced.text)


def other_user(world):
    """Who goes on as another user still writes its events."""
    text = "import ssl, os\nos.setgroups([])\nos.setgid(65534)\nos.setuid(65534)\nssl.create_default_context()"
    for argv in (python(text), ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                *python("import ssl\nssl.create_default_context()")]):
        traced = world.trace(argv)
        equal((traced.status, traced.report["summary"]["loads"]), (0, 1), f"loads of {argv}")


def namespaces(world):
    """Each is number 1, of a pid namespace of its own."""
    load = f"unshare -pf /usr/bin/python3 -c '{LOADS}' {world.pki.bundle}"
    report = world.trace(["/bin/sh", "-c", f"{load}; {load}; {load}"]).report
    loading = [(process["pid"], process["loads"]) for process in report["processes"] if process["loads"]]
    equal((loading, report["summary"]["loading_processes"]), ([(1, 1)] * 3, 3), "processes that loaded")


def relative(world):
    """The source is read once more, though it has another name from where windlass runs."""
    folder = world.fresh()
    (folder / "ca.pem").write_bytes(world.pki.bundle.read_bytes())
    traced = world.trace(["/bin/sh", "-c", f"cd {folder} && exec /usr/bin/python3 -c '{LOADS}' ca.pem"])
    sources = [(source["kind"], source["path"], source["problem"])
               for source in traced.report["certificates"]["sources"]]
    equal(sources, [("file", str(folder / "ca.pem"), None)], "sources that were read")
    equal(traced.report["certificates"]["distinct"], world.pki.count, "different ones")


def under_run(world):
    """The preload library stands in front of the tracing one: what that can't count is not said to be 0."""
    traced = world.trace([world.windlass, "run", "--", *python(LOADS, world.pki.bundle)])
    parsed = traced.report["summary"]["certificates"]
    check(parsed in (None, world.pki.count), f"{parsed} certificates parsed")
    traced = world.trace([world.windlass, "--version"])
    equal([process["out_of_reach"] for process in traced.report["processes"]], [None],
          "windlass is not taken for a TLS library")


def report_removed(world):
    """`make clean` may take the report with it: it is written again."""
    out = world.fresh() / "report.json"
    argv = [world.windlass, "trace", "--json", out, "--", "/bin/rm", out]
    equal(world.stock(argv)[0], 0, "status")
    equal(json.loads(out.read_text())["summary"]["loads"], 0, "the report")
    moved = f"mv {out} {out}.old; echo mine >{out}"
    status, _, stderr = world.stock([world.windlass, "trace", "--json", out, "--output", "/dev/null", "--", "/bin/sh",
                                     "-c", moved])
    equal((status, out.read_text()), (1, "mine\n"), "a file of somebody else's is left alone")
    check("another file took its place" in stderr, stderr)


def with_input(world):
    """The measured runs have no input: where that changes what the program does, there is no ratio."""
    text = "import ssl, sys\nfor line in sys.stdin: ssl.create_default_context(cafile=line.strip())"
    traced = world.trace(python(text), options=("--compare=2",), stdin=f"{world.pki.bundle}\n" * 3)
    comparison = traced.report["comparison"]
    found = tuple(comparison[name] for name in ("endings_differ", "loads", "loads_differ", "input_differs"))
    equal((traced.report["summary"]["loads"], found), (3, (False, 0, True, True)), "comparison")
    check("made 0 loads" in traced.text and "empty standard input" in traced.text, traced.text)
    check(not re.search(r"^wall time .*%", traced.text, re.M), "a ratio of different work: " + traced.text)
    page = traced.page.read_text()
    check("made 0 loads" in page and "of stock" not in page and "With Windlass the whole run" not in page, "the page")


def after_signal(world):
    """Who ended a server does not want to see it started again, by --compare."""
    folder = world.fresh()
    starts, ready = folder / "starts", folder / "ready"
    for handles in (False, True):
        text = LOADS + "import signal, time\n" + ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n" if handles
                                                  else "") + \
            f"print('start', file=open({str(starts)!r}, 'a'))\nopen({str(ready)!r}, 'w').close()\ntime.sleep(300)"
        result, report = told_to_end(world, text, starts, ready)
        equal(result.status, 0 if handles else -signal.SIGTERM, "ended as the program did")
        equal(starts.read_text(), "start\n", "starts of the program")
        check("1 load of CA certificates" in report and "nothing was measured for --compare" in report, report)
        starts.unlink()
        ready.unlink()


def stopped(world):
    """A signal during the measured runs: the report of the traced run is there, and no directory is left."""
    folder = world.fresh()
    starts, ready, temporary = folder / "starts", folder / "ready", folder / "tmp"
    temporary.mkdir()
    # The second one waits.
    text = LOADS + (f"import time\nprint('start', file=open({str(starts)!r}, 'a'))\n"
                    f"if len(open({str(starts)!r}).readlines()) > 1: open({str(ready)!r}, 'w').close(); "
                    f"time.sleep(300)")
    result, report = told_to_end(world, text, starts, ready, {"TMPDIR": temporary})
    equal(result.status, -signal.SIGTERM, "ended by the signal")
    equal(starts.read_text(), "start\n" * 2, "starts of the program")
    check("1 load of CA certificates" in report and "--compare was stopped by a signal" in report, report)
    equal(list(temporary.iterdir()), [], "files that are left")


def told_to_end(world, text, starts, ready, env=None):
    """Traces a program with --compare, and ends that when the program is ready. How it ended, and the report."""
    report = world.fresh() / "report.txt"
    argv = [world.windlass, "trace", "--compare=2", "--output", report, "--", *python(text, world.pki.bundle)]
    with Side().start(argv, world.environment(env)) as started:
        deadline = time.monotonic() + 120
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        result = started.stop(signal.SIGTERM)
    return result, report.read_text()


def endings(world):
    text = "import sys; sys.exit('windlass_preload' in open('/proc/self/maps').read())"
    traced = world.trace(python(text), options=("--compare=1",))
    equal((traced.status, traced.report["comparison"]["endings_differ"]), (0, True), "endings")
    statuses = {side: traced.report["comparison"][side]["samples"][0]["exit_status"] for side in ("stock", "windlass")}
    equal(statuses, {"stock": 0, "windlass": 1}, "exit statuses")
    check("Not all runs ended alike" in traced.text and "Not all runs ended alike" in traced.page.read_text(),
          traced.text)

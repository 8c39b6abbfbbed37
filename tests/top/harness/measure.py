"""What watching costs. Both sides alternate in one run; medians."""

import os
import statistics
import sys
import time

from context import Program

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
ROUNDS = 15
OPENS = 1000

LOOP = f"""
import os, sys, time
for line in sys.stdin:
    count, between = line.split()
    start = time.perf_counter_ns()
    for _ in range(int(count)):
        os.close(os.open("{BUNDLE}", os.O_RDONLY))
        if float(between):
            time.sleep(float(between))
    print(time.perf_counter_ns() - start, flush=True)
"""
CONTEXTS = """
import ssl, sys, time
for line in sys.stdin:
    start = time.perf_counter_ns()
    for _ in range(int(line)):
        ssl.create_default_context()
    print(time.perf_counter_ns() - start, flush=True)
"""


def report(context):
    opener = lambda program, line: (program.say(line), int(program.line()))[1]
    python = ["/usr/bin/python3", "-c"]
    with Program([*python, LOOP]) as loop, Program([*python, CONTEXTS]) as contexts:
        alone, watched, makes_alone, makes_watched, idle, busy, spaced, seen = ([] for _ in range(8))
        for _ in range(ROUNDS):
            alone.append(opener(loop, f"{OPENS} 0"))
            makes_alone.append(opener(contexts, "10"))
            with context.top() as top:
                watched.append(opener(loop, f"{OPENS} 0"))
                makes_watched.append(opener(contexts, "10"))
                start = cpu(top.process.pid)
                opener(loop, f"{OPENS} 0.001")
                row = top.wait_for_row(loop.process.pid, lambda row: row["opens"])
                busy.append(cpu(top.process.pid) - start)
                start = cpu(top.process.pid), time.monotonic()
                time.sleep(1)
                idle.append((cpu(top.process.pid) - start[0]) / (time.monotonic() - start[1]))
                row = [row for row in top.end()["rows"] if row["pid"] == loop.process.pid][0]
                seen.append(row["opens"])
    median = statistics.median
    print(f"samples of the opener alone, ns for {OPENS}: {alone}", file=sys.stderr)
    print(f"the same watched: {watched}", file=sys.stderr)
    print(f"an open and close: {median(alone) / OPENS / 1000:.2f} us alone, {median(watched) / OPENS / 1000:.2f} us "
          f"watched")
    print(f"10 contexts of Python: {median(makes_alone) / 1e6:.1f} ms alone, {median(makes_watched) / 1e6:.1f} ms "
          f"watched: {median(makes_watched) / median(makes_alone):.3f}x")
    print(f"CPU of top for {OPENS} opens, 1 ms apart: {median(busy) * 1000:.0f} ms; while nothing is opened, with a "
          f"line every 0.2 s: {median(idle) * 100:.1f} % of a CPU")
    print(f"counted of {2 * OPENS} opens, of which {OPENS} without a pause: {median(seen):.0f}")


def cpu(pid):
    """Seconds of user and system time (proc(5): utime, stime)."""
    fields = open(f"/proc/{pid}/stat", encoding="ascii").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

"""What watching costs. Both sides alternate in one run; medians."""

import contextlib
import os
import statistics
import sys
import time

from context import Program
from scrape import Agent, cgroups, total

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
ROUNDS = 15
ROUNDS_OF_METRICS = 3
OPENS = 1000
# What a machine's site modules open is not the program's.
PYTHON = ["/usr/bin/python3", "-S", "-c"]

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
PACED = f"""
import os, sys, time
rate, count, short = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
for line in sys.stdin:
    start, every = time.monotonic(), int(line)
    for number in range(count):
        time.sleep(max(0, start + number / rate - time.monotonic()))
        if every and number % every == 0:
            os.waitpid(os.posix_spawn(short, [short, "{BUNDLE}"], os.environ), 0)
        else:
            os.close(os.open("{BUNDLE}", os.O_RDONLY))
    print(flush=True)
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


def report_metrics(context):
    """What an agent costs: at 1,000 opens a second, and with 10,000 containers. In CPU time, as others compute, too."""
    openers, rate, seconds = 4, 1000, 10
    paced = [*PYTHON, PACED, str(rate // openers), str(rate // openers * seconds), context.programs["short"]]
    # Every so many opens are those of a process that does nothing else.
    kinds = {f"{rate} opens a second by {openers} processes": 0, "the same, 1 in 10 by a new process": 10,
             "the opens of the machine alone": None}
    with contextlib.ExitStack() as stack:
        # Several, as the kernel merges events of one process that wait.
        loops = [stack.enter_context(Program(paced)) for _ in range(openers)]
        agent = stack.enter_context(Agent(context))
        pid = agent.process.pid
        for what, every in kinds.items():
            shares, counted = [], []
            for _ in range(ROUNDS_OF_METRICS):
                start, used, before = time.monotonic(), cpu(pid), total(agent.samples(), "windlass_opens_total")
                [loop.say(str(every)) for loop in loops if every is not None]
                for _ in range(seconds):
                    time.sleep(1)
                    agent.samples()
                [loop.line() for loop in loops if every is not None]
                took = time.monotonic() - start
                shares.append((cpu(pid) - used) / took)
                opened = total(agent.wait_for("opens", lambda samples: samples), "windlass_opens_total") - before
                counted.append(opened / took)
            print(f"{what}: {spread(shares)} of a CPU; {min(counted):.0f} to {max(counted):.0f} a second counted; "
                  f"with a scrape a second; memory {memory(pid)}")
        agent.end()
    path = os.path.join(context.folder, "ca.pem")
    with open(BUNDLE, "rb") as source, open(path, "wb") as file:
        file.write(source.read())
    in_containers(context, path, 250, seconds, "own")
    in_containers(context, path, 10_000, seconds)


def in_containers(context, path, containers, seconds, *own):
    """Control groups, and a process in each: there is no other way to be in one."""
    with cgroups(context) as groups, Agent(context, "--watch", path) as agent:
        pid = agent.process.pid
        print(f"memory without containers: {memory(pid)}")
        with Program([context.programs["containers"], str(containers), groups, path, *own]) as program:
            program.line()
            opens = lambda samples, **labels: total(samples, "windlass_opens_total", **labels)
            # Of the rest of the machine, nothing is in a container.
            within = lambda samples: opens(samples) - opens(samples, container_id="")
            samples = agent.wait_for("all opens", lambda samples: within(samples) >= containers and samples)
            # Places are searched in new root directories.
            time.sleep(3 * seconds)
            shares, first = [], cpu(pid)
            for _ in range(ROUNDS_OF_METRICS):
                start, used = time.monotonic(), cpu(pid)
                while time.monotonic() - start < seconds:
                    text = agent.text()
                    time.sleep(1)
                shares.append((cpu(pid) - used) / (time.monotonic() - start))
            kind = "a mount namespace" if own else "the machine's root"
            print(f"{containers} containers with {kind} and a running process each: memory {memory(pid)}; "
                  f"{total(samples, 'windlass_container_series'):.0f} label sets, and "
                  f"{opens(samples, container_id='other'):.0f} opens of others; {within(samples):.0f} opens counted, "
                  f"and {total(samples, 'windlass_event_overflows_total'):.0f} overflows; a scrape of "
                  f"{len(text) / 1e6:.2f} MB; {first:.1f} s of CPU in the first {3 * seconds} s, then "
                  f"{spread(shares)} of a CPU, with a scrape a second")
            program.end()
        agent.end()


def spread(shares):
    return f"{min(shares) * 100:.1f} to {max(shares) * 100:.1f} %"


def memory(pid):
    """Resident now, and at most."""
    status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status", encoding="utf-8") if ":" in line)
    resident, most = (int(status[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return f"{resident:.0f} MiB (at most {most:.0f})"


def cpu(pid):
    """Seconds of user and system time (proc(5): utime, stime)."""
    fields = open(f"/proc/{pid}/stat", encoding="ascii").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

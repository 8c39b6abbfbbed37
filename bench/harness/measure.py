"""Running programs from a clean environment, side by side, and what is made of their samples."""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import time

SECONDS = 900


@dataclasses.dataclass
class World:
    """What the rows measure with."""

    library: pathlib.Path
    windlass: pathlib.Path
    cold_index: pathlib.Path
    programs: pathlib.Path
    built: dict
    folder: pathlib.Path
    samples: float

    def count(self, many):
        """`many` samples, or fewer for --quick."""
        return max(3, round(many * self.samples))


@dataclasses.dataclass
class Row:
    """One line of the table. Samples are lists of numbers in `unit`; `bar` is what `ratio` must not exceed.

    For at_least, `ratio` must reach the bar instead.
    """

    name: str
    unit: str
    stock: list
    limit: list
    windlass: list
    ratio: float
    bar: float | None
    how: str
    at_least: bool = False
    extra: dict = dataclasses.field(default_factory=dict)

    def passed(self):
        if self.bar is None:
            return None
        return self.ratio >= self.bar if self.at_least else self.ratio <= self.bar


def median(samples):
    return statistics.median(samples) if samples else None


def quotients(above, below):
    return [one / other for one, other in zip(above, below, strict=True)]


def ratio(above, below):
    """The sides alternate, so samples at the same place in two lists are of the same turn, and are compared in pairs: a
    machine that changes its speed in a run changes both. Lists of different lengths have no such pairs."""
    if len(above) == len(below):
        return statistics.median(quotients(above, below))
    return statistics.median(above) / statistics.median(below)


def environment(extra=None):
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": os.environ.get("HOME", "/"),
           "LC_ALL": "C.UTF-8"}
    env.update({key: str(value) for key, value in (extra or {}).items()})
    return env


def run(argv, env=None, accept=(0,)):
    """Standard output of a program that must succeed, or end with a status of `accept`."""
    done = subprocess.run([str(word) for word in argv], env=environment(env), stdin=subprocess.DEVNULL, timeout=SECONDS,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in accept:
        raise SystemExit(f"{argv}: status {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def run_json(argv, env=None):
    return json.loads(run(argv, env))


def wall_ms(argv, env=None):
    """Start to end of a whole command."""
    words, env = [str(word) for word in argv], environment(env)
    begin = time.perf_counter_ns()
    status = subprocess.call(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    taken = time.perf_counter_ns() - begin
    if status:
        raise SystemExit(f"{argv}: status {status}")
    return taken / 1e6


def alternate(count, *sides):
    """A B C A B C …: one list of results a side. The first turn warms caches and is dropped."""
    results = [[] for _ in sides]
    for turn in range(count + 1):
        for number, side in enumerate(sides):
            result = side()
            if turn:
                results[number].append(result)
    return results


def joined(dictionaries, key):
    """All samples under this key of several programs' output, ns as us."""
    return [value / 1000 for dictionary in dictionaries for value in dictionary[key]]


def instructions(argv, env, folder, children=False, accept=(0,)):
    """Instructions of a whole process, and with `children` of all that it starts, in user space, \
as callgrind counts them."""
    folder = pathlib.Path(folder) / "callgrind"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    run(["valgrind", "--tool=callgrind", f"--trace-children={'yes' if children else 'no'}",
         f"--callgrind-out-file={folder}/%p", *argv], env, accept)
    # A file a process; it says the same twice.
    totals = [re.search(r"(?m)^(?:summary|totals): (\d+)", file.read_text()) for file in folder.iterdir()]
    if not totals or None in totals:
        raise SystemExit("callgrind wrote no totals")
    return sum(int(total.group(1)) for total in totals)


def system_calls(argv, env, folder, below):
    """How often a program and its threads opened and looked at files below a directory, after its own mark."""
    out = pathlib.Path(folder) / "strace.out"
    run(["strace", "-f", "-s", "4096", "-e", "trace=open,openat,stat,lstat,newfstatat,statx", "-o", out, *argv], env)
    counts, marked = {"open": 0, "stat": 0}, False
    for line in out.read_text().splitlines():
        if "/windlass-bench-begin" in line:
            marked = True
        elif marked and f'"{below}' in line:
            counts["open" if " open" in line else "stat"] += 1
    return counts


def cost(argv):
    """Milliseconds and peak resident KiB of a whole command."""
    begin = time.perf_counter_ns()
    process = subprocess.Popen([str(word) for word in argv], env=environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    taken = time.perf_counter_ns() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{argv}: status {process.returncode}")
    return taken / 1e6, used.ru_maxrss

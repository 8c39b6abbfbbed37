"""suites.py [--keep-going] MAKE FIRST... -- SUITE...: `make test`, one target after the other.

Says which suite runs, how long it took the last time, and at the end what each one came to. The targets before `--`
prepare (they install and build); if one of them fails, nothing else runs. After the first suite that fails the others
do not run, unless --keep-going is given. Exit status 1 if anything failed.

The suites don't see compiled stores in /var/cache/windlass; `make test-installed` has them.

Times are kept in CARGO_TARGET_DIR (target/), so the first run can't tell them.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

WITHOUT_STORES = [str(pathlib.Path(__file__).with_name("stores.sh")), "without"]
KEPT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or "target") / "suite-times.json"
# The closing lines of cargo's tests and of the harnesses; .ci/run counts the same.
COUNTED = re.compile(rb"[ :](\d+) passed[;,] (\d+) failed")


def main(arguments):
    keep_going = arguments[0] == "--keep-going"
    make, *targets = arguments[1:] if keep_going else arguments
    split = targets.index("--")
    first, suites = targets[:split], targets[split + 1:]
    times = remembered()
    total = sum(times.get(name, 0) for name in first + suites)
    unknown = [name for name in first + suites if name not in times]
    print(f"{len(suites)} suites; {expectation(total, unknown)}", flush=True)
    rows = []
    for name in first:
        row = run(name, f"[{name}]", [make, name], times)
        if not row["good"]:
            say(f"{name} failed, so no suite was run. `make {name}` repeats it.")
            return 1
    for number, name in enumerate(suites, 1):
        # What was built above is up to date: -o.
        old = [word for target in first for word in ("-o", target)]
        rows.append(run(name, f"[{number}/{len(suites)}] {name}", [*WITHOUT_STORES, make, *old, name], times))
        if not rows[-1]["good"]:
            say(f"{name} failed. `make {name}` repeats it.")
            if not keep_going:
                break
    table(rows, suites)
    return 0 if all(row["good"] for row in rows) else 1


def run(name, label, command, times):
    """Runs it with its output passed on as it comes."""
    say(f"{label}: {expectation(times.get(name, 0), [] if name in times else [name])}")
    begun = time.monotonic()
    passed = failed = 0
    # Bytes, as they come: a suite that shows progress within a line still does.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        rest = b""
        while chunk := os.read(child.stdout.fileno(), 65536):
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if found := COUNTED.search(line):
                    passed, failed = passed + int(found[1]), failed + int(found[2])
    took = time.monotonic() - begun
    good = child.returncode == 0
    if good:
        times[name] = round(took)
        remember(times)
    return {"name": name, "good": good, "passed": passed, "failed": failed, "took": took}


def table(rows, suites):
    """Worded so that .ci/run does not take a line for a closing line and counts it again."""
    say(f"{'suite':22} {'result':8} {'passed':>8} {'failed':>8} {'time':>8}", *(
        f"{row['name']:22} {'ok' if row['good'] else 'FAILED':8} {row['passed']:8,} {row['failed']:8,}"
        f" {clock(row['took']):>8}" for row in rows), *(f"{name:22} not run" for name in suites[len(rows):]))
    broken = [row["name"] for row in rows if not row["good"]]
    if broken:
        print("FAILED. These repeat what failed:", *(f"    make {name}" for name in broken), sep="\n", flush=True)
    else:
        print(f"All {len(rows)} suites are good, after {clock(sum(row['took'] for row in rows))}.", flush=True)


def expectation(seconds, unknown):
    if unknown and not seconds:
        return "not run here before, so its time is not known"
    more = f", and what {len(unknown)} not run here before take" if unknown else ""
    return (f"about {round(seconds / 60)} minutes" if seconds >= 90 else f"about {max(seconds, 2)} seconds") + more


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def say(*lines):
    print("", *lines, "", sep="\n", flush=True)


def remembered():
    try:
        return json.loads(KEPT.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def remember(times):
    try:
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_text(json.dumps(times), encoding="utf-8")
    except OSError:
        pass  # the next run can't tell how long it takes, and that is all


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)

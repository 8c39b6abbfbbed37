"""Measures the rows, prints the table, keeps the raw samples. Exit status 1 when a bar is missed."""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import peers
import report
from attached import ROWS as ATTACHED_ROWS
from cold_start import ROWS as COLD_START_ROWS
from gnutls import ROWS as GNUTLS_ROWS
from libcurl import ROWS as LIBCURL_ROWS
from measure import World, environment
from recorded import RESULTS
from python_clients import GROUPS
from rows import ROWS as OPENSSL_ROWS
from ruby import ROWS as RUBY_ROWS
from trust_token import ROWS as TOKEN_ROWS

ROWS = OPENSSL_ROWS | ATTACHED_ROWS | COLD_START_ROWS | RUBY_ROWS | LIBCURL_ROWS | GNUTLS_ROWS | TOKEN_ROWS
HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent
CC = ("cc", "-O2", "-pthread")
OPENSSL = ("-lssl", "-lcrypto")
GNUTLS = ("-lgnutls",)
BUILD = {"memory.c": (CC, OPENSSL), "roots.c": (CC, OPENSSL), "threads.c": (CC, OPENSSL), "coldload.c": (CC, OPENSSL),
         "lookup.c": (CC, OPENSSL), "warm.c": (CC, OPENSSL), "directory.c": (CC, OPENSSL),
         "trust_files.c": (CC, GNUTLS), "fetch.c": (CC, ("-lcurl",)), "empty.c": (("cc", "-shared", "-fPIC"), ()),
         "request.cr": (("crystal", "build", "--release", "--no-color"), ())}


def main(arguments):
    parser = argparse.ArgumentParser("bench/run.sh", description="Measures stock, limit and Windlass side by side.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="measure only these rows, or `peers` by itself: "
                        "see bench/peers/README.md. The rows: " + ", ".join(ROWS) + "; and not in a full run: "
                        + ", ".join(GROUPS))
    parser.add_argument("--keep", action="store_true",
                        help="write the samples to bench/results/; a full run always does")
    parser.add_argument("--quick", action="store_true", help="take fewer samples, and write nothing")
    given = parser.parse_args(arguments)
    names, quick, keep = given.rows or list(ROWS), given.quick, given.keep
    known = ROWS | GROUPS
    unknown = [name for name in names if name not in known]
    if unknown and names != ["peers"]:
        parser.error(f"no such row: {', '.join(unknown)}; there are {', '.join(known)}, and peers by itself")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
    release = target / "release"
    with tempfile.TemporaryDirectory(prefix="windlass-bench-") as folder:
        # The peers have programs of their own.
        world = World(release / "libwindlass_preload.so", release / "windlass", release / "examples" / "cold_index",
                      HERE / "programs", {} if names == ["peers"] else build(target / "bench"),
                      pathlib.Path(folder), 0.1 if quick else 1.0)
        for needed in (world.library, world.windlass, world.cold_index):
            if not needed.exists():
                raise SystemExit(f"{needed} is missing: run `make build`")
        if names == ["peers"]:
            return peers.main(world, quick, keep)
        rows = []
        for name in names:
            print(f"measuring {name} …", file=sys.stderr, flush=True)
            rows += known[name](world)
    about = report.machine()
    print(f"{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, {about['os']}, {about['openssl']}, "
          f"{about['roots']} roots, {about['date']}\nmedians; ratio = Windlass / limit unless the row says otherwise\n")
    print(report.table(rows) + "\n\n" + report.explanation(rows))
    full = set(names) >= set(ROWS)
    if not quick and (full or keep):
        which = "" if full else "-" + "-".join(names)
        kept = RESULTS / f"{about['date']}-{about['arch']}-{about['cores']}cores{which}.json"
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(report.as_json(rows, about))
        kept.with_suffix(".md").write_text(report.markdown(rows, about) + "\n")
        print(f"\nraw samples: {kept.relative_to(ROOT)}")
    missed = [row.name for row in rows if row.passed() is False]
    if missed:
        print(f"\nbars missed: {', '.join(missed)}")
    return 1 if missed else 0


def build(out):
    """{"memory.c": path of the executable, …}"""
    out.mkdir(parents=True, exist_ok=True)
    built = {}
    for name, (compiler, libraries) in BUILD.items():
        source, executable = HERE / "programs" / name, out / pathlib.Path(name).stem
        built[name] = executable
        if not executable.exists() or executable.stat().st_mtime <= source.stat().st_mtime:
            call([*compiler, "-o", executable, source, *libraries], {"CRYSTAL_CACHE_DIR": out / "crystal-cache"})
    return built


def call(argv, env=None):
    done = subprocess.run([str(word) for word in argv], env=environment(env), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", timeout=600)
    if done.returncode:
        raise SystemExit(f"{argv}: {done.stdout}")


if __name__ == "__main__":
    # An end by SIGTERM also stops the servers and removes the temporary folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))

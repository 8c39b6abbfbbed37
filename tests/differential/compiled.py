"""Compiled stores for the cases of run.py: every file that a script could load
has been compiled before it runs, so that the library serves from them.

What `windlass compile` refuses has no compiled store, as on a real machine.
"""

import contextlib
import collections
import dataclasses
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import threading

import builds
import counters
import store_file

HASHED = re.compile(r"[0-9a-f]{8}\.\d+")
CLEAN = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
FRESH, STALE, LOADED = "cache/compiled", "cache/compiled-stale", "cache/load"


def with_absolute_paths(case):
    """Compiled stores are found by absolute paths only, so the script has to name those."""
    directories = {path.name for path in case.folder.iterdir() if path.is_dir()}
    text = case.script_for(pathlib.Path("@ROOT@")).decode()
    lines = [" ".join(absolute(text.split(" "), directories)) for text in text.splitlines()]
    return dataclasses.replace(case, script=("\n".join(lines) + "\n").encode())


def absolute(words, directories):
    for n, word in enumerate(words):
        is_kind = words[0] == "lookup" or words[0].startswith("ctrl") and n == 2  # "dir", "file"
        parts = word.split(":")
        if n and not is_kind and any(part in directories or part.endswith(".pem") for part in parts):
            word = ":".join(part if part.startswith("@") else f"@ROOT@/{part}" for part in parts)
        yield word


def compile_all(windlass, store, sources):
    """Compiles what can be; the sources that have a compiled store now."""
    if not sources:
        return []
    done = subprocess.run([windlass, "compile", "--json", "--force", "--store", store, *sources], env=CLEAN,
                          capture_output=True, text=True, timeout=600)
    if not done.stdout:
        raise SystemExit(f"windlass compile failed: {done.stderr}")
    return [row["path"] for row in json.loads(done.stdout)["sources"] if row["state"] in ("written", "unchanged")]


def fresh_directory(path):
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True, mode=0o755)
    path.chmod(0o755)
    return path


class Stores:
    """The compiled stores of a run, and what the library counted of them."""

    def __init__(self, windlass, lie=False):
        self.windlass, self.lie = str(windlass), lie
        self.version = hashlib.sha256(pathlib.Path(windlass).read_bytes()).hexdigest()[:16]
        self.lock = threading.Lock()
        self.of_build = collections.defaultdict(collections.Counter)
        self.kept, self.faults = {}, []

    @contextlib.contextmanager
    def serving(self, build, case, folder, lie):
        """The environment in which the library finds them; afterwards its counters are looked at."""
        if case.writes or self.lie:
            store = fresh_directory(folder.with_name(f"{folder.name}.stores"))
            compiled = self.make(folder, store, lie)
        else:
            store, compiled = self.keep(case)
        with counters.page() as page:
            yield {"WINDLASS_STORE": str(store), "WINDLASS_TEST_COMPILE": self.windlass, **page.variable}
            self.judge(build, case, compiled, page.values())
        if case.writes or self.lie:
            shutil.rmtree(store)

    def keep(self, case):
        """Cases that change nothing have their compiled stores from run to run, as long as `windlass` is the same."""
        with self.lock:
            own = self.kept.setdefault(case.folder, threading.Lock())
        store = builds.WORK / "compiled" / case.folder.parent.parent.name / case.suite / case.name
        stamp = store.with_name(f"{case.name}.stamp")
        with own:
            files = "".join(f"{path} {path.stat().st_ctime_ns} " for path in sources(case.folder))
            state = hashlib.sha256(f"{self.version} {files}".encode()).hexdigest()
            kept = stamp.read_text().splitlines() if stamp.exists() else []
            if kept[:1] != [state]:
                kept = [state, *self.make(case.folder, fresh_directory(store))]
                stamp.write_text("\n".join(kept))
            return store, kept[1:]

    def make(self, folder, store, lie=False):
        files = [str(path) for path in sources(folder)]
        if lie:
            return compile_lies(self.windlass, store, files)
        return compile_all(self.windlass, store, files)

    def judge(self, build, case, compiled, values):
        """A case that leaves its files alone has everything compiled: a source that was indexed was not served."""
        with self.lock:
            self.of_build[build].update(values)
            if not case.writes and compiled and values.get(LOADED):
                self.faults.append(f"{build} {case.suite}/{case.name}: {values[LOADED]} sources were indexed that "
                                   f"have compiled stores, {values.get(FRESH, 0)} were served")
            if case.writes and b"\ncompile " in case.script and not (values.get(FRESH) and values.get(STALE)):
                self.faults.append(f"{build} {case.suite}/{case.name}: no store was served that later was stale: "
                                   f"{values.get(FRESH)} were served, {values.get(STALE)} stale")
            for counter in ("cache/compiled-malformed", "cache/compiled-distrusted"):
                if values.get(counter):
                    self.faults.append(f"{build} {case.suite}/{case.name}: {counter} {values[counter]}")

    def report(self, chosen):
        """Prints the totals; the number of faults."""
        for build in chosen:
            total = self.of_build[build]
            if not total[FRESH]:
                self.faults.append(f"{build}: no compiled store was served in the whole run")
            print(f"{build}: {total[FRESH]} sources served from compiled stores, {total[STALE]} stores were stale")
        for fault in self.faults[:20]:
            print(f"FAIL {fault}")
        return len(self.faults)


def sources(folder):
    """Every file that a script could name as a CAfile, links included, and the files of hashed directories, which some
    builds of libcrypto make the library look into. Broken links are left out."""
    return [path for path in sorted(folder.rglob("*"))
            if path.is_file() and (path.suffix == ".pem" or HASHED.fullmatch(path.name))]


def compile_lies(windlass, store, files):
    """For each file the compiled store of another, with the file's own identity and a right checksum."""
    contents = {path: pathlib.Path(path).read_bytes() for path in files if not pathlib.Path(path).is_symlink()}
    good = [path for path in compile_all(windlass, store, list(contents)) if not path.endswith("all.pem")]
    for path, other in zip(good, [*good[1:], *good[:1]]):
        pathlib.Path(path).write_bytes(contents[other])
    compile_all(windlass, store, good)
    for path in good:
        pathlib.Path(path).write_bytes(contents[path])
        file = store / store_file.name_of(path)
        file.write_bytes(store_file.claiming(file.read_bytes(), path))
    return good

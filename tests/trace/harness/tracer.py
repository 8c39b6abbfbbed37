"""Running programs: stock, traced, and under strace."""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import typing

from sides import environment, execute

STRACE = "/usr/bin/strace"


@dataclasses.dataclass
class Traced:
    """What a traced program showed, and what was found."""

    status: int
    stdout: str
    stderr: str
    report: dict
    page: pathlib.Path
    text: str


@dataclasses.dataclass
class World:
    """What the cases have to work with."""

    windlass: pathlib.Path
    folder: pathlib.Path
    pki: typing.Any
    hosts: typing.Any
    programs: pathlib.Path
    built: pathlib.Path
    numbers: int = 0

    def fresh(self):
        """An empty folder."""
        self.numbers += 1
        folder = self.folder / f"run-{self.numbers}"
        folder.mkdir()
        return folder

    def trace(self, argv, env=None, options=(), cwd=None, stdin=""):
        """Traces a program, with all forms of the report."""
        out = self.fresh()
        files = {"json": out / "report.json", "html": out / "page.html", "output": out / "report.txt"}
        flags = [word for name, path in files.items() for word in (f"--{name}", path)]
        argv = [self.windlass, "trace", *flags, *options, "--", *argv]
        status, stdout, stderr = execute(list(map(str, argv)), self.environment(env), stdin, cwd)
        report = json.loads(files["json"].read_text())
        return Traced(status, stdout, stderr, report, files["html"], files["output"].read_text())

    def stock(self, argv, env=None, cwd=None, stdin=""):
        """Exit status, stdout and stderr without windlass."""
        return execute(list(map(str, argv)), self.environment(env), stdin, cwd)

    def environment(self, env):
        env = dict(env or {})
        for name in ("WINDLASS_TRACE_LIBRARY", "WINDLASS_PRELOAD_LIBRARY"):
            if os.environ.get(name):
                env.setdefault(name, os.environ[name])
        return env

    def opens(self, argv, path, env=None):
        """How often a program and its children open a file, as strace sees it."""
        log = self.fresh() / "strace"
        subprocess.run([STRACE, "-f", "-qq", "-e", "trace=open,openat", "-e", "signal=none", "-o", log,
                        *map(str, argv)],
                       env=environment(env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=300, check=False)
        opened = re.compile(r'open(?:at)?\((?:AT_FDCWD, )?"' + re.escape(str(path)) + r'",.* = \d+$')
        return sum(bool(opened.search(line)) for line in log.read_text(errors="replace").splitlines())

    def program(self, name, source, command):
        """Builds a test program of C."""
        path = self.folder / name
        if not path.exists():
            subprocess.run(["cc", "-O1", "-o", path, "-x", "c", "-", *command], input=source, text=True, check=True)
        return path


def check(holds, what):
    """One finding."""
    if not holds:
        raise AssertionError(what)


def equal(found, expected, what):
    """One finding that is a number."""
    if found != expected:
        raise AssertionError(f"{what}: found {found!r}, expected {expected!r}")

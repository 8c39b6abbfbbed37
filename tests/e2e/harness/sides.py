"""The two ways a program is run: stock, and under `windlass run --stats=json`."""

import ctypes
import dataclasses
import json
import os
import signal
import subprocess
import tempfile

STEP_SECONDS = 600
_libc = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1


@dataclasses.dataclass
class Result:
    """What a program showed. `counters` is None for a stock run."""

    status: int
    stdout: str
    stderr: str
    counters: dict | None = None


class Side:
    """Runs programs one way; subclasses say how the command line changes and where the counters come from."""

    name = "stock"

    def command(self, argv):
        return [str(word) for word in argv]

    def split(self, stderr):
        """The program's own stderr and the counters."""
        return stderr, None

    def run(self, argv, env=None, stdin="", cwd=None):
        status, stdout, stderr = execute(self.command(argv), env, stdin, cwd)
        stderr, counters = self.split(stderr)
        return Result(status, stdout, stderr, counters)

    def run_plain(self, argv, env=None):
        """Under Windlass: without --stats."""
        return Result(*execute([str(word) for word in argv], env, "", None))

    def start(self, argv, env=None, cwd=None):
        return Started(self, argv, env, cwd)


class Windlass(Side):
    name = "windlass"

    def __init__(self, windlass):
        self.windlass = windlass

    def command(self, argv):
        return [self.windlass, "run", "--stats=json", "--", *super().command(argv)]

    def split(self, stderr):
        return split_report(stderr)

    def run_plain(self, argv, env=None):
        return super().run_plain([self.windlass, "run", "--", *argv], env)


class Started:
    """A server under test. Used as a context manager; `result` is there once it has ended."""

    def __init__(self, side, argv, env, cwd):
        self.side = side
        self.out = tempfile.TemporaryFile()
        self.err = tempfile.TemporaryFile()
        self.process = subprocess.Popen(side.command(argv), env=environment(env), cwd=cwd, stdin=subprocess.DEVNULL,
                                        stdout=self.out, stderr=self.err, start_new_session=True,
                                        preexec_fn=die_with_parent)
        self.result = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.result is None:
            self.stop()

    def stop(self, with_signal=signal.SIGTERM):
        self.process.send_signal(with_signal)
        return self.wait()

    def wait(self):
        try:
            status = self.process.wait(timeout=STEP_SECONDS)
        except subprocess.TimeoutExpired:
            end_group(self.process)
            raise
        stderr, counters = self.side.split(read_back(self.err))
        self.result = Result(status, read_back(self.out), stderr, counters)
        return self.result


def execute(command, env, stdin, cwd):
    """Exit status, stdout and stderr; a program that takes too long is ended with its children."""
    process = subprocess.Popen(command, env=environment(env), cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, encoding="utf-8", errors="backslashreplace",
                               start_new_session=True, preexec_fn=die_with_parent)
    try:
        stdout, stderr = process.communicate(stdin, timeout=STEP_SECONDS)
    except subprocess.TimeoutExpired:
        end_group(process)
        raise
    return process.returncode, stdout, stderr


def split_report(stderr):
    """`windlass run --stats=json` ends standard error with one line of JSON."""
    lines = stderr.splitlines(keepends=True)
    if not lines or not lines[-1].startswith("{"):
        raise AssertionError(f"no counters at the end of standard error: {stderr[-2000:]!r}")
    return "".join(lines[:-1]), flatten(json.loads(lines[-1])["counters"])


def flatten(value, prefix=""):
    """{"served": {"X": 1}} -> {"served/X": 1}."""
    flat = {}
    for key, item in value.items():
        if isinstance(item, dict):
            flat.update(flatten(item, f"{prefix}{key}/"))
        elif isinstance(item, int):
            flat[prefix + key] = item
    return flat


def environment(extra):
    """A clean environment: nothing that names a trust store or a library gets in but by `extra`. Compiled stores that
    this machine has are none of the tests' business, either."""
    env = {name: os.environ[name] for name in ("HOME", "PATH", "LC_ALL", "WINDLASS_PRELOAD_LIBRARY")
           if os.environ.get(name)}
    env["WINDLASS_STORE"] = ""
    env.update({key: str(value) for key, value in (extra or {}).items()})
    return env


def die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def end_group(process):
    """The program and its children: each runs in a session of its own."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def read_back(stream):
    stream.seek(0)
    return stream.read().decode("utf-8", "backslashreplace")

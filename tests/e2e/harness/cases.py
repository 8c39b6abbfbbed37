"""What a case is, and how its two runs are judged."""

import dataclasses
import difflib
import re
import shutil
import typing

from sides import Result, Side

# All that may differ between two runs of one program. Every pattern is here; a case names the ones it needs.
RANDOM = {
    # nginx's error log: date and time, process and connection numbers
    "nginx-log": (r"(?m)^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[(\w+)\] \d+#\d+:( \*\d+)?", r"[\1]"),
    # gnutls-cli: the session's identifier, and that of TLS 1.2's key exchange
    "gnutls-session": (r"(?m)^- (Session ID|Channel binding).*", r"- \1"),
    # wget's messages begin with date and time, or end in the speed
    "wget-time": (r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", ""),
    # apt: how long it took, and how fast it was
    "apt-speed": (r"in \d+s \([^)]*\)", "in time"),
    # the thread number OpenSSL begins each line of a printed error queue with
    "openssl-thread": (r"(?m)^[0-9A-F]{12,16}:error:", "error:"),
}


# A hashed directory is searched by libcrypto itself; what shows Windlass at work are the subjects looked up.
HASHED = "openssl/lookups"


@dataclasses.dataclass
class Case:
    """One program doing one thing.

    observe   runs it on a side
    status    the exit status it must have on both sides
    shows     patterns that must be found in its stdout or stderr: the verdict itself, so that two equal failures
              for some other reason don't pass
    served    the counter that must have counted, or the beginning of its name (None = nothing has to be served)
    bypassed  the same below `bypass/`: the source is one that Windlass leaves to the stock library, for this reason
    counts    counters that must have counted, by their whole names
    untouched nothing at all may have been counted
    random    keys of RANDOM
    """

    name: str
    observe: typing.Callable[[Side], Result]
    status: int = 0
    shows: tuple = ()
    served: str | None = "served/"
    bypassed: str | None = None
    counts: tuple = ()
    untouched: bool = False
    random: tuple = ()


def judge(case, stock, windlass):
    """The reasons for which the case failed; empty when it passed."""
    faults = []
    for side, result in (("stock", stock), ("windlass", windlass)):
        if result.status != case.status:
            faults.append(f"{side}: exit status {result.status}, expected {case.status}")
        for pattern in case.shows:
            if not re.search(pattern, result.stdout + result.stderr):
                faults.append(f"{side}: nothing matches {pattern!r}")
    for stream in ("stdout", "stderr"):
        faults += differences(stream, normalise(case, getattr(stock, stream)),
                              normalise(case, getattr(windlass, stream)))
    if stock.status != windlass.status:
        faults.append(f"exit status {stock.status} stock, {windlass.status} under Windlass")
    counters = windlass.counters or {}
    if case.served is not None and not counted(counters, case.served):
        faults.append(f"Windlass counted nothing of {case.served}: {counters}")
    if case.bypassed is not None and not counted(counters, "bypass/" + case.bypassed):
        faults.append(f"no bypass {case.bypassed} was counted: {counters}")
    faults += [f"nothing was counted as {label}: {counters}" for label in case.counts if not counters.get(label)]
    if case.untouched and (counted(counters, "served/") or counted(counters, "bypass/")):
        faults.append(f"Windlass was to leave this alone: {counters}")
    if faults:
        faults.append(f"stock stdout: {stock.stdout[-1500:]!r}\nstock stderr: {stock.stderr[-1500:]!r}")
    return faults


def counted(counters, beginning):
    return sum(value for label, value in counters.items() if label.startswith(beginning))


def normalise(case, text):
    for key in case.random:
        pattern, replacement = RANDOM[key]
        text = re.sub(pattern, replacement, text)
    return text


def differences(stream, stock, windlass):
    if stock == windlass:
        return []
    lines = difflib.unified_diff(stock.splitlines(), windlass.splitlines(), "stock " + stream, "windlass " + stream,
                                 n=1, lineterm="")
    return ["\n".join(list(lines)[:40]) or f"{stream} differs in line ends"]


class Place:
    """A folder at the same path for both sides, emptied before each run: paths show up in messages."""

    def __init__(self, folder):
        self.folder = folder

    def fresh(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        return self.folder


@dataclasses.dataclass
class World:
    """What the cases have to work with."""

    pki: typing.Any
    hosts: typing.Any
    port: int
    place: Place
    programs: typing.Any
    built: typing.Any
    windlass: typing.Any


def plain(name, argv, env=None, **wanted):
    """A case that is one run of one command line."""
    return Case(name, lambda side: side.run(argv, env=env), **wanted)


def three_hosts(name, command, good=(0, ()), wrong=(1, ()), untrusted=(1, ()), env=None, **wanted):
    """The usual three: `command(host)` is a command line; each tuple holds exit status and patterns."""
    verdicts = {"good": good, "wrong": wrong, "untrusted": untrusted}
    titles = {"good": "good host accepted", "wrong": "wrong host refused", "untrusted": "untrusted root refused"}
    return [plain(f"{name}: {titles[host]}", command(host), env, status=status, shows=shows, **wanted)
            for host, (status, shows) in verdicts.items()]

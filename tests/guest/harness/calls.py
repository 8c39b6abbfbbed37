"""System calls as strace writes them, and what of a call a filter can look at."""

import collections
import re
import subprocess

LINE = re.compile(r"^(\d+) +(?:<\.\.\. (\w+) resumed>|(\w+)\()(.*)$")
MARK = re.compile(r'^999, "(begin|end) ([^"]*)"')
# Arguments that a filter can tell apart: flags and commands. Addresses, lengths and paths are behind pointers or not
# the same twice. Flags of open that only take something away from what is opened say nothing more.
TAKING = {"O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_NOFOLLOW", "O_DIRECTORY", "O_PATH", "O_LARGEFILE"}
FLAGS = {
    "openat": lambda args: flags_of(args, 2, without=TAKING),
    "open": lambda args: flags_of(args, 1, without=TAKING),
    "newfstatat": lambda args: flags_of(args, -1),
    "faccessat2": lambda args: flags_of(args, -1),
    "futex": lambda args: flags_of(args, 1),
    "fcntl": lambda args: flags_of(args, 1),
    "mmap": lambda args: flags_of(args, 3, without={"MAP_STACK", "MAP_NORESERVE"}),
    "madvise": lambda args: flags_of(args, 2),
    "prctl": lambda args: flags_of(args, 0),
    "ioctl": lambda args: flags_of(args, 1),
}
# What the C library's allocator makes when it needs memory or gives it back, and when it does that depends on all that
# was allocated before: judged by what the same program makes of them anywhere.
MEMORY = {"brk", "mmap", "munmap", "mremap", "madvise", "mprotect"}
# Of these it makes no other.
HEAP = {"brk"}


def trace(command, env, log, options=(), within=(), **more):
    """Runs a command under strace; what it showed, and its calls. `within` runs strace itself."""
    settings = [word for name, value in env.items() for word in ("-E", f"{name}={value}")]
    done = subprocess.run([*map(str, within), "/usr/bin/strace", "-f", "-qq", "-s", "96", "-o", str(log), *options,
                           *settings, *map(str, command)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          errors="backslashreplace", check=False, timeout=600,
                          env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8"}, **more)
    return done, log.read_text(errors="backslashreplace").splitlines()


def calls(lines):
    """(process, name, arguments) of each call. Those that strace has written in two parts are put together."""
    begun = {}
    for line in lines:
        match = LINE.match(line)
        if not match:
            continue
        process = int(match[1])
        if match[3] and match[4].endswith(" <unfinished ...>"):
            begun[process] = match[4].removesuffix(" <unfinished ...>")
        elif match[3]:
            yield process, match[3], match[4]
        else:
            yield process, match[2], begun.pop(process, "") + match[4]


def key(name, arguments):
    """A call as a filter sees it."""
    flags = FLAGS.get(name, lambda _: "")(arguments)
    return f"{name} {flags}".strip()


def flags_of(arguments, at, without=frozenset()):
    parts = split(arguments)
    try:
        flags = parts[at].strip()
    except IndexError:
        return ""
    return "|".join(sorted(set(flags.split("|")) - without)) or "0"


def split(arguments):
    """The arguments of a call; what is in quotes, braces or brackets is one of them."""
    parts, depth, quoted, at = [""], 0, False, 0
    while at < len(arguments):
        letter = arguments[at]
        if quoted and letter == "\\":
            parts[-1] += letter + arguments[at + 1:at + 2]
            at += 2
            continue
        if letter == '"':
            quoted = not quoted
        elif not quoted and letter in "{[(":
            depth += 1
        elif not quoted and letter in "}])":
            if depth == 0:
                break
            depth -= 1
        if letter == "," and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
        at += 1
    return parts


def between_marks(lines):
    """{step: the calls that threads made in it}."""
    steps, open_steps = collections.defaultdict(set), {}
    for process, name, arguments in calls(lines):
        mark = MARK.match(arguments) if name == "write" else None
        if mark and mark[1] == "begin":
            open_steps[process] = mark[2]
            steps[mark[2]] |= set()
        elif mark:
            assert open_steps.pop(process) == mark[2], lines
        elif process in open_steps:
            steps[open_steps[process]].add(key(name, arguments))
    assert not open_steps, open_steps
    return dict(steps)


def name_of(call):
    return call.split(" ")[0]

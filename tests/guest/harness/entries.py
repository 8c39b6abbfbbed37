"""Each entry point that loads, searches, enumerates or verifies: what it calls of the kernel with the library, it calls
without."""

import functools
import pathlib
import subprocess

import calls

# Compiled stores in a directory that WINDLASS_STORE names, and as they are where Windlass is installed.
MODES = ("plain", "young", "compiled", "installed")


def cases(world):
    for program in world.programs("entries"):
        for entry in subprocess.run([program.path, "--list"], check=True, stdout=subprocess.PIPE,
                                    encoding="utf-8").stdout.split():
            for mode in MODES:
                yield f"entry: {program.name} {mode} {entry}", functools.partial(one, world, program, entry, mode)


def one(world, program, entry, mode):
    shown = []
    for library in (None, world.library):
        place = world.places.fresh(young=mode == "young")
        store = world.compiled(place) if mode in ("compiled", "installed") else ""
        env = {} if mode == "installed" else {"WINDLASS_STORE": store}
        within = world.installed(store) if mode == "installed" else ()
        if library:
            env["LD_PRELOAD"] = library
        done, lines = calls.trace([program.path, entry, place], env, world.folder / "strace", within=within)
        assert done.returncode == 0 and not done.stderr, (done, lines[-5:])
        shown.append((done.stdout, calls.between_marks(lines)))
    (stock_output, stock), (output, here) = shown
    assert output == stock_output, difference(stock_output, output)
    assert stock.keys() == here.keys(), stock.keys() ^ here.keys()
    more = more_than(stock, here)
    assert not more, "\n".join(f"{step}: {', '.join(sorted(extra))}" for step, extra in more.items())


def more_than(stock, here):
    """{step: calls that only the program with the library makes}."""
    anywhere = {"thread-" in step: set().union(*(made for other,
                                                 made in stock.items() if ("thread-" in other) == ("thread-" in step)))
                for step in stock}
    more, before = {}, set()
    for step, made in here.items():
        allowed = set(stock[step])
        # What a library sets up at its first use of something (`pthread_once`) it may set up later here, as that is
        # used later.
        before |= allowed & {"futex FUTEX_WAKE_PRIVATE"}
        allowed |= before
        extra = {call for call in made - allowed if not is_as_good(call, allowed, anywhere["thread-" in step], step)}
        if extra:
            more[step] = extra
    return more


def is_as_good(call, allowed, anywhere, step):
    name = calls.name_of(call)
    if name in calls.HEAP:
        return True
    if name in calls.MEMORY:
        return call in anywhere
    # What a path leads to is looked at by a descriptor that opens nothing before it is opened, as to open and close a
    # FIFO is seen by who writes to it. So a file that stock can't open is opened and closed in this way. A process that
    # may open files and not close them is not thought of.
    if call in ("newfstatat AT_EMPTY_PATH", "close") and "unreadable-" in step:
        return any(calls.name_of(other) == "openat" for other in allowed)
    # A file of CA names that can't be served is read first, and wound back for the original.
    if call == "lseek" and step in ("client_ca/empty-load", "client_ca_ex/empty-load", "file_subjects/empty-load"):
        return True
    # OpenSSL 4.0 asks for a file of a directory by lstat and then by stat; for a file that was loaded before it is only
    # stat here.
    if call == "newfstatat 0":
        return "newfstatat AT_SYMLINK_NOFOLLOW" in allowed
    # Threads wait for each other, in stock by the same call.
    if name == "futex":
        return "thread-" in step
    return False


def difference(stock, here):
    return "\n".join(f"stock {a!r}\nhere  {b!r}" for a, b in zip(stock.splitlines(), here.splitlines()) if a != b)

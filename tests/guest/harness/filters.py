"""Programs behind system call filters, installed before the first load and after one: they live, and come to the same
results."""

import functools
import subprocess

import calls

ACCESS = ("access", "faccessat", "faccessat2")
LOOKS = ("statx", "readlink", "readlinkat", "getcwd", "statfs", "fstatfs", "memfd_create", "mincore", "pread64")
MEMORY = ("mmap", "munmap", "mremap", "madvise", "mprotect")
RANDOM = ("getrandom",)
WAITS = ("sched_yield", "nanosleep", "clock_nanosleep", "ppoll", "poll")
WHO = ("getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getgroups", "prctl", "uname",
       "sysinfo")
TIMES = ("clock_gettime", "gettimeofday", "time", "rt_sigaction", "rt_sigprocmask", "sched_getaffinity", "fcntl", "dup",
         "pipe2")
ALL = ACCESS + LOOKS + RANDOM + WAITS + WHO + TIMES
STOCK = "what stock makes"
# Deny-lists, then allow-lists: what happens, and to which calls.
FILTERS = {
    "deny access, kill": ("deny", "kill", ACCESS),
    "deny looks, kill": ("deny", "kill", LOOKS),
    "deny memory, kill": ("deny", "kill", MEMORY),
    "deny random, kill": ("deny", "kill", RANDOM),
    "deny waits, kill": ("deny", "kill", WAITS),
    "deny identities, kill": ("deny", "kill", WHO),
    "deny times and signals, kill": ("deny", "kill", TIMES),
    "deny futex, ENOSYS": ("deny", "enosys", ("futex",)),
    "deny all of these, EPERM": ("deny", "eperm", ALL),
    "deny all of these, ENOSYS": ("deny", "enosys", ALL),
    "deny all of these, trap": ("deny", "trap", ALL),
    "deny writing, kill": ("writing", "kill", ("openat",)),
    "deny opening, EACCES": ("deny", "eacces", ("open", "openat")),
    "allow what stock makes, kill": ("allow", "kill", STOCK),
    "allow what stock makes, EPERM": ("allow", "eperm", STOCK),
    "allow what stock makes, ENOSYS": ("allow", "enosys", STOCK),
    "allow what stock makes, trap": ("allow", "trap", STOCK),
}


def cases(world):
    for program in world.programs("filtered", "-lseccomp"):
        for when in ("before", "after"):
            for name in FILTERS:
                if has_a_stock_result(program, when, name):
                    yield f"filter: {program.name} {when} {name}", functools.partial(one, world, program, when,
                                                                                     *FILTERS[name])


def has_a_stock_result(program, when, name):
    """GnuTLS takes memory from the kernel; the C library ends a process whose first `pthread_once` can't wake
    anybody."""
    return not (program.name.startswith("gnutls") and "memory" in name) and not (when == "before" and "futex" in name)


def one(world, program, when, kind, action, names):
    if names == STOCK:
        names = sorted(made_by_stock(world, program, when))
    for store in ("", "compiled"):
        shown = []
        for library in (None, world.library):
            place = world.places.fresh()
            env = {"LC_ALL": "C.UTF-8", "WINDLASS_STORE": str(world.compiled(place)) if store else ""}
            if library:
                env["LD_PRELOAD"] = str(library)
            done = subprocess.run([program.path, place, when, kind, action, *names], env=env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False,
                                  timeout=600)
            shown.append((done.returncode, done.stdout, done.stderr))
        stock, here = shown
        assert stock[0] == 0 and stock[1].count("behind") == 2 and stock[1].count("changed") == 2, stock
        if "openat" in names and action == "eacces":
            # A file of a hashed directory that everybody may read is not opened again (ARCHITECTURE.md, "Known
            # differences").
            stock, here = files_only(stock), files_only(here)
        assert here == stock, f"stock {stock}\nhere  {here}"


def files_only(shown):
    """The results of loading a file, which is loaded together with an unknown one."""
    return shown[0], [line.split(",")[0] for line in shown[1].splitlines()], shown[2]


@functools.cache
def made_by_stock(world, program, when):
    """What the program calls from the filter on to its end. Files change in it, too, and results are written."""
    place = world.places.fresh()
    # A filter that nothing meets.
    done, lines = calls.trace([program.path, place, when, "deny", "kill", "reboot"], {"WINDLASS_STORE": ""},
                              world.folder / "strace")
    assert done.returncode == 0, done
    (made,) = calls.between_marks(lines).values()
    return {calls.name_of(call) for call in made} | {"write", "exit_group", "rename", "rt_sigreturn", "brk"}

"""programs/guest.c: what a guest in a process must bear with; and memory errors and leaks under valgrind."""

import os
import re
import shutil

from cases import Case
from sides import Result

VALGRIND = ("/usr/bin/valgrind", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=99")


def cases(world):
    pki, program = world.pki, world.built["guest.c"]
    count = pki.count
    env = {"REACH_BUNDLE": pki.bundle, "REACH_LEAF": pki.path("good.crt"), "REACH_BROKEN": pki.broken,
           "REACH_INTERMEDIATE": pki.path("intermediate.crt"), "REACH_PLACE": world.place.folder}

    def guest(what, *shows, **wanted):
        return Case(f"guest: {what}", lambda side: side.run([program, what], env), shows=shows, **wanted)

    yield guest("chroot", r"in \.: 1, verdict 1\n.*verdict 1", r"in inner: 1, verdict 0\n.*verdict 0")
    yield guest("privileges", f"may read: 1, {count} objects, verdict 1", r"may not read: 0",
                r"may read again: 1, \d+ objects, verdict 1",
                bypassed="unreadable")
    yield Case("guest: secure execution", lambda side: secure(side, world, program),
               shows=(r"secure execution: 1",) if os.geteuid() == 0 else (), served=None, untouched=True)
    yield guest("changing", r"wrong: 0", r"root removed: 1, \d+ objects, verdict 0",
                r"root back: 1, \d+ objects, verdict 1")
    yield Case("guest: fork while threads load", lambda side: side.run(
        # Without Windlass, children of a process whose threads load would wait for OpenSSL's own locks.
        [program, "forks-loading", "0" if side.name == "stock" else "4"], env), shows=(r"children: 60 of 60",))
    yield guest("manners", r"descriptors as before", r"Threads:\s*1\n")
    for what in ("own_objects", "certs_by_subject", "shared_store", "duplicates", "server_chain"):
        yield Case(f"valgrind: C: {what}", lambda side, what=what: valgrind(side, world, what),
                   shows=(r"(?m)^errors: 0$",))


def secure(side, world, program):
    """A set-user-ID program: the loader ignores a preloaded library that is named by a path."""
    copy = world.place.folder / "guest"
    shutil.copy(program, copy)
    prefix = []
    if os.geteuid() == 0:
        for folder in (world.place.folder, world.place.folder.parent):
            folder.chmod(0o755)
        copy.chmod(0o4755)
        prefix = ["/usr/bin/setpriv", "--reuid=65534", "--clear-groups"]
    return side.run([*prefix, copy, "secure"])


def valgrind(side, world, what):
    """The program's output as it is; of valgrind's, the number of errors, definite leaks among them."""
    env = {f"REACH_{name.upper()}": world.pki.path(name + ".crt") for name in ("root", "twin", "intermediate")}
    env.update({"REACH_BUNDLE": world.pki.bundle, "REACH_LEAF": world.pki.path("good.crt"),
                "REACH_CAPATH": world.pki.capath,
                "REACH_KEY": world.pki.path("good.key"), "SSL_CERT_FILE": world.pki.bundle})
    result = side.run([*VALGRIND, world.built["reach.c"], what], env)
    errors = re.findall(r"ERROR SUMMARY: (\d+) errors", result.stderr)
    details = "" if errors == ["0"] else result.stderr
    return Result(result.status, result.stdout + f"errors: {errors[-1]}\n", details, result.counters)

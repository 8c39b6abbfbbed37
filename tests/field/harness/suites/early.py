"""What happens before a program's first instruction: our library's constructor runs before those of all others, the C
library's among them. Other preloaded libraries, which read their settings at the first call that reaches them, must not
be called by it; and it must not wait for anything. Each case is run with our library before the other one and behind
it."""

import dataclasses
import os
import pathlib
import shlex

from cases import Case
from objects import SYSTEM
from sides import Side
from linked import GOOD, LISTED, Parts, preload_library

# With counters the constructor opens their page, too.
ORDERS = ("first", "last", "first, counted")
# The other library's own settings differ from run to run.
ENVIRONMENT = "env | grep -v -e ^LD_PRELOAD= -e ^FAKEROOTKEY= -e ^WINDLASS_STATS= | sort"
GAWK = """BEGIN {
    while ((getline line < ENVIRON["FIELD_BUNDLE"]) > 0) if (line ~ /BEGIN/) count++
    print "certificates:", count
    "id -u" | getline user
    print "user:", user
}"""
PYTHON = """
import os, ssl
print("user:", os.geteuid(), os.stat(os.environ["FIELD_BUNDLE"]).st_uid)
print("certificates:", ssl.create_default_context().cert_store_stats()["x509"])
"""


def cases(world):
    parts = Parts(world)
    for other in others(parts):
        for command in [*commands(parts), *other.own]:
            yield from in_both_orders(world, other, command)
    if os.access("/dev/fuse", os.R_OK | os.W_OK):
        yield from silent(parts)


@dataclasses.dataclass
class Command:
    """`make` gives the command line."""

    name: str
    make: object
    shows: tuple


@dataclasses.dataclass
class Other:
    """Another preloaded library. `wrapper` starts what it needs beside it."""

    name: str
    library: object
    env: dict = dataclasses.field(default_factory=dict)
    wrapper: tuple = ()
    own: tuple = ()
    shows: tuple = ()
    is_telling: bool = False


def in_both_orders(world, other, command):
    for order in ORDERS:

        def run(side, order=order):
            libraries, counted = [other.library()], ()
            if side.name != "stock":
                libraries.insert(1 if order == "last" else 0, preload_library(side))
                if "counted" in order:
                    counted = (side.windlass, "run", "--stats", "--stats-file", "/dev/null", "--")
            preloaded = ("env", "LD_PRELOAD=" + ":".join(map(str, libraries)))
            return Side().run(
                [*counted, *other.wrapper, *preloaded, *command.make()], {**world.env(), **other.env}
            )

        yield Case(
            f"early: {other.name}, {command.name}, our library {order}",
            run,
            shows=(*command.shows, *other.shows),
            served=None,
        ), other.is_telling and order == "last"


def commands(parts):
    """What is run under each."""
    pki, ports = parts.world.pki, parts.world.hosts.ports
    yield Command("true", lambda: ["/bin/true"], ())
    yield Command(
        "the environment", lambda: ["sh", "-c", ENVIRONMENT], (r"(?m)^FIELD_BUNDLE=/", r"(?m)^SSL_CERT_FILE=/")
    )
    yield Command("gawk", lambda: ["gawk", GAWK], ("(?m)^certificates: 14$", r"(?m)^user: \d+$"))
    yield Command("python", lambda: ["/usr/bin/python3", "-B", "-c", PYTHON], ("(?m)^certificates: 14$",))
    yield Command("a program that verifies", lambda: parts.real_steps("store", "count", "verify"), (LISTED, GOOD))
    for host, shows, status in (("good", "Verification: OK", 0), ("untrusted", "verify error", 1)):
        client = [
            "openssl",
            "s_client",
            "-brief",
            "-verify_return_error",
            "-CAfile",
            pki.few,
            "-connect",
            f"localhost:{ports[host]}",
        ]
        # Whatever it says of the session differs; what is asked is the verdict.
        shell = shlex.join(map(str, client)) + " 2>&1 </dev/null | grep -e Verification: -e 'verify error'; exit 0"
        yield Command(f"a client, {host} host", lambda shell=shell: ["sh", "-c", shell], (shows,))


def others(parts):
    folder = parts.world.folder / "early"
    folder.mkdir(exist_ok=True)
    yield Other(
        "a library that watches",
        lambda: parts.shared("watching", "watching.c"),
        shows=("early: none",),
        is_telling=True,
    )
    owned = f"f=$(mktemp) && chown 1234:4321 $f && stat -c 'owner: %u:%g' $f; rm -f $f"
    for kind in ("tcp", "sysv"):
        yield Other(
            f"fakeroot-{kind}",
            lambda kind=kind: SYSTEM / f"libfakeroot/libfakeroot-{kind}.so",
            wrapper=(f"fakeroot-{kind}", "--"),
            own=(Command("owners", lambda: ["sh", "-c", owned], ("(?m)^owner: 1234:4321$",)),),
            is_telling=kind == "tcp",
        )
    yield fakechroot(folder, parts.world)
    yield umockdev(folder)
    yield tsocks(folder)
    yield cowdancer(folder)


def fakechroot(folder, world):
    """A root that is a folder, but for some paths."""
    root, outside = folder / "root", folder / "outside"
    for place, text in ((root, "of the root"), (outside, "excluded")):
        place.mkdir(exist_ok=True)
        (place / "words").write_text(text + "\n")
    # The root is at the end: programs, libraries and all that the tests need stay where they are.
    source = pathlib.Path(__file__).parents[4]
    excluded = ":".join(
        map(
            str,
            ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", world.folder, world.target, source],
        )
    )
    return Other(
        "fakechroot",
        lambda: SYSTEM / "fakechroot/libfakechroot.so",
        {"FAKECHROOT": "true", "FAKECHROOT_BASE": root, "FAKECHROOT_EXCLUDE_PATH": excluded},
        own=(Command("paths", lambda: ["cat", "/words", outside / "words"], ("(?m)^of the root\nexcluded$",)),),
        is_telling=True,
    )


def umockdev(folder):
    """/sys is that of a test bed."""
    (folder / "bed/sys").mkdir(parents=True, exist_ok=True)
    (folder / "bed/sys/words").write_text("of the bed\n")
    return Other(
        "umockdev",
        lambda: SYSTEM / "libumockdev-preload.so.0",
        {"UMOCKDEV_DIR": folder / "bed"},
        own=(Command("paths", lambda: ["cat", "/sys/words"], ("(?m)^of the bed$",)),),
    )


def tsocks(folder):
    """What is not local goes to a proxy, which isn't there."""
    settings = folder / "tsocks.conf"
    settings.write_text("local = 127.0.0.0/255.0.0.0\nserver = 127.0.0.1\nserver_port = 1\nserver_type = 5\n")
    connect = "import socket; print('connect:', socket.socket().connect_ex(('192.0.2.1', 443)))"
    return Other(
        "tsocks",
        lambda: SYSTEM / "libtsocks.so.1",
        {"TSOCKS_CONF_FILE": settings},
        own=(
            Command(
                "a proxy",
                lambda: ["sh", "-c", '/usr/bin/python3 -c "$0" 2>/dev/null', connect],
                ("(?m)^connect: 111$",),
            ),
        ),
    )


def cowdancer(folder):
    """A file with two names is copied when one is written to."""
    place = folder / "cow"
    place.mkdir(exist_ok=True)
    write = f"cd {place} && echo new >> $1; cat $1 $2"
    twice = "rm -f one two && echo old > one && ln one two"
    prepare = f"cd {place} && {twice} && cowdancer-ilistcreate .ilist 'find . -name one' && exec \"$@\""
    return Other(
        "cowdancer",
        lambda: "/usr/lib/cowdancer/libcowdancer.so",
        {"COWDANCER_ILISTFILE": place / ".ilist"},
        wrapper=("flock", place, "sh", "-c", prepare, "sh"),
        own=(Command("a copy", lambda: ["sh", "-c", write, "sh", "one", "two"], ("(?m)^old\nnew\nold$",)),),
    )


def silent(parts):
    """silent_fs.c: the trust, or the home, lies where nobody answers. A program that starts with a TLS library asks for
    the file systems of what the environment names; no other does."""
    folder = parts.world.folder / "silent"
    folder.mkdir(exist_ok=True)
    names = {"SSL_CERT_FILE": folder / "bundle.pem", "SSL_CERT_DIR": folder / "certs", "HOME": folder}
    for name, path in names.items():
        for title, make in {"true": lambda: ["/bin/true"], "a linked program": lambda: parts.real_steps("ask")}.items():
            if title == "a linked program" and name != "HOME":
                continue

            def run(side, name=name, path=path, make=make):
                library = [] if side.name == "stock" else [f"LD_PRELOAD={preload_library(side)}"]
                program = parts.program("silent-fs", "silent_fs.c")
                return Side().run(
                    [program, folder, "/usr/bin/env", f"{name}={path}", *library, *make()], parts.world.env()
                )

            yield Case(
                f"early: {name} on a file system that does not answer, {title}", run, shows=("status: 0",), served=None
            ), name == "SSL_CERT_FILE"

"""Programs that edit a root in place: the edit shows where it shows in stock, and in no other context."""

import contextlib
import difflib
import pathlib
import shutil
import tempfile

import builds
from programs import execute, write_files

PROGRAMS = pathlib.Path(__file__).resolve().parent / "process" / "editors"

# By which function the program gets the certificate; with + it has got the same root of another store before.
GETTERS = ("objects", "objects-at-once", "locked", "objects1", "all", "build", "chain", "chain1", "current", "certs",
           "subject", "object", "issuer1", "get-issuer", "lookup", "callback", "in-callback", "callback-issuer",
           "check-issued", "connection", "server", "verify-store", "own-verify-store", "other-context", "other-store",
           "other-verify-store", "sent", "chain+", "subject+", "callback+", "connection+", "objects+")
EDITS = ("expire", "end", "revive", "bytes", "pubkey", "reject", "trust", "alias", "keyid", "name", "entry", "issuer",
         "serial", "extension", "constraints", "delete", "ex-data", "proxy", "version")
# For the ways in which the program comes to the function that edits.
SOME_EDITS = ("expire", "revive", "pubkey", "alias", "name", "serial", "delete")


def all_cases():
    return [f"{getter}:{edit}" for getter in GETTERS for edit in EDITS]


def some_cases():
    return [f"{getter}:{edit}" for getter in GETTERS for edit in SOME_EDITS]


def program(name, build, extra=(), sources=("editors.c", "edits.c")):
    return builds.compile_c([PROGRAMS / source for source in sources], builds.WORK / "bin" / f"{name}-{build}", build,
                            extra)


def by_case(output, cases):
    """What the program printed for each case, and behind the last one."""
    parts, case = {}, None
    for line in output.splitlines():
        case = line if line in cases else case if line.startswith("  ") else "end"
        parts.setdefault(case, []).append(line)
    return parts


def same_cases(results, label, command, cases, folder, library):
    stock, now = (by_case(execute([*command, *cases], folder, one), cases) for one in (None, library))
    wrong = [case for case in [*cases, "end"] if stock.get(case) != now.get(case)]
    details = [f"{len(wrong)} of {len(cases)} differ: {' '.join(wrong)}"] + [
        line for case in wrong[:3] for line in difflib.unified_diff(stock.get(case, []), now.get(case, []), case, case,
                                                                    "", "", 9, "")]
    whole = len(stock) == len(cases) + 1 and stock["end"] == ["exit 0"]
    results.check(label, whole and not wrong, "\n".join(details if whole else [*stock["end"], *details]))


@contextlib.contextmanager
def filled(pki):
    folder = pathlib.Path(tempfile.mkdtemp(dir=builds.WORK))
    write_files(folder, {
        "roots.pem": pki.pem("r0", "r1"), "expired.pem": pki.pem("expired", "r1"), "leaf.pem": pki.pem("leaf0"),
        "leaf.key": pki.keys["leaf"].pem().encode(), "other.pem": pki.pem("r2"), "dir/README": b"",
    })
    yield folder
    shutil.rmtree(folder)


def editors(results, options, pki):
    """Every getter with every edit where the setters are linked; a selection where they are found by dlsym, or lie in a
    plugin that is loaded before the first store, after it, or when the program already holds the certificate; and
    threads."""
    with filled(pki) as folder:
        for build in options.builds:
            linked = program("editors", build)
            few = program("editors-few", build, ("-DFEW",))
            by_name = program("editors-by-name", build, ("-DBY_NAME",))
            without = program("editors-without", build, ("-DNO_EDITS",), ("editors.c",))
            plugin = program("edits.so", build, ("-shared", "-fPIC"), ("edits.c",))
            for how, command, cases in (
                ("linked", [linked, ".", "here"], all_cases()),
                ("linked, few of them", [few, ".", "here"],
                 [case for case in some_cases() if not case.endswith(":alias")]),
                ("found by dlsym", [by_name, ".", "here"], some_cases()),
                ("in a plugin, loaded first", [without, ".", "first", plugin], some_cases()),
                ("in a plugin, loaded after the first store", [without, ".", "second", plugin], some_cases()),
                ("in a plugin, loaded last", [without, ".", "last", plugin], some_cases()),
            ):
                same_cases(results, f"editors on OpenSSL {build}, setters {how}", command, cases, folder,
                           options.library)
            security = program("editors-security", build, ("-DSECURITY",))
            same_cases(results, f"editors on OpenSSL {build}, asked about security", [security, ".", "here"],
                       [f"security:{edit}" for edit in EDITS], folder, options.library)
            race = program("editors-race", build, (), ("race.c",))
            for how, library in (("stock", None), ("now", options.library)):
                out = execute([race, ".", 300 * options.rounds], folder, library)
                results.check(f"threads get roots of two stores on OpenSSL {build}, {how}", out == "failed 0\nexit 0\n",
                              out)


def asked(results, options, pki, where=()):
    """The same where the getters are found by dlsym."""
    with filled(pki) as folder:
        for build in options.builds:
            command = [program(f"editors-asked{len(where)}", build, ("-DASKED", *where)), ".", "here"]
            how = "in libssl" if where else "anywhere"
            same_cases(results, f"editors on OpenSSL {build}, getters found by dlsym {how}", command, some_cases(),
                       folder, options.library)


def asked_of_libssl(results, options, pki):
    """As a program that has opened the library asks it."""
    asked(results, options, pki, ("-DASKED_OF_LIBSSL",))

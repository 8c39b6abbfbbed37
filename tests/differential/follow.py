"""WINDLASS_FOLLOW: verdicts of stores that are kept while their sources change, and those of stores made anew."""

import pathlib
import shutil
import tempfile

import builds
from programs import execute, write_files

HERE = pathlib.Path(__file__).resolve().parent / "process"
FOLLOW = {"WINDLASS_FOLLOW": "1"}
LOADS = ("file", "both", "context", "directory", "defaults", "two", "lookup")
# What a successor could not stand for.
NOT_FOLLOWED = ("added", "listed", "function", "relative", "method", "chroot")
RESUMED = """\
first: set -1, accepted, full, 0
again: set 1, accepted, resumed, 0
without the root: set 1, {0}
with it: set 1, accepted, {1}, 0
with it again: set 1, accepted, resumed, 0
""" * 2 + "exit 0\n"


def run(program, arguments, pki, library=None, env=None):
    folder = pathlib.Path(tempfile.mkdtemp(dir=builds.WORK))
    write_files(folder, {**pki.files(), "root-a.pem": pki.pem("r0"), "root-b.pem": pki.pem("r1"),
                         "root-c.pem": pki.pem("r2")})
    out = execute([program, *arguments], folder, library, env=env or {})
    shutil.rmtree(folder)
    return out.replace(str(folder), "FOLDER")


def first_difference(wanted, got):
    for one, other in zip(wanted.splitlines(), got.splitlines()):
        if one != other:
            return f"wanted: {one}\ngot:    {other}"
    return got[-200:]


def sessions(results, options, pki, build):
    """Whichever way a client comes to offer a session: stock offers it, and so does a followed store until a change."""
    program = builds.compile_c([HERE / "sessions.c"], builds.WORK / "bin" / f"sessions-{build}", build)
    stock, now = run(program, [], pki), run(program, [], pki, options.library, FOLLOW)
    results.check(f"sessions in stock, in every way, on OpenSSL {build}",
                  all("accepted, resumed" in line for line in stock.splitlines() if "then" in line), stock[-500:])
    wanted = []
    for line in stock.splitlines():
        # The decoy that early data goes with is refused by the server, as if it had lost its keys.
        early = ", sent 1: refused" if "sent" in line else ""
        if "then one.pem" in line:
            line = "   then one.pem: refused, full, 20" + early
        elif "then inter.pem" in line:
            line = "   then inter.pem: accepted, full, 0" + early
        wanted.append(line)
    results.check(f"sessions that are followed, in every way, on OpenSSL {build}",
                  wanted == now.splitlines() and wanted[-1] == "exit 0", first_difference("\n".join(wanted), now))
    without = run(program, [], pki, options.library)
    results.check(f"sessions without following, in every way, on OpenSSL {build}", without == stock,
                  first_difference(stock, without))


def touched(results, options, pki, build):
    """What a program does to its store after a change, it does to what a store made now would be."""
    program = builds.compile_c([HERE / "touched.c"], builds.WORK / "bin" / f"touched-{build}", build)
    for operation in ("add", "load", "lookup", "der", "list", "take", "function"):
        anew = run(program, ["anew", operation], pki).replace("loads: 1\n", "", 1)
        kept = run(program, ["kept", operation], pki, options.library, FOLLOW)
        kept = kept.replace("loads: 1\nloaded: 0 20\n", "", 1)
        results.check(f"{operation} after a change on OpenSSL {build}", anew == kept and anew.endswith("exit 0\n"),
                      f"wanted:\n{anew}got:\n{kept}")


def follow(results, options, pki, rounds):
    """What a kept store says is what stock says with a store made now; without the variable, what it says when kept."""
    for build in options.few:
        program = builds.compile_c([HERE / "followed.c"], builds.WORK / "bin" / f"followed-{build}", build)

        def same(label, wanted, got):
            good = wanted == got and "0 wrong stores\nexit 0\n" in got
            results.check(f"{label} on OpenSSL {build}", good, first_difference(wanted, got))
        for load in LOADS:
            anew, kept = run(program, ["anew", load], pki), run(program, ["kept", load], pki)
            results.check(f"stock goes on with {load} on OpenSSL {build}", anew != kept, anew[-200:])
            same(f"follows {load}", anew, run(program, ["kept", load], pki, options.library, FOLLOW))
            same(f"does not follow {load}", kept, run(program, ["kept", load], pki, options.library))
        for how in NOT_FOLLOWED:
            kept = run(program, [how, "file"], pki)
            same(f"{how} is not followed", kept, run(program, [how, "file"], pki, options.library, FOLLOW))
        threads = builds.compile_c([HERE / "following.c"], builds.WORK / "bin" / f"following-{build}", build)
        for more in ([], ["store"]):
            out = run(threads, [rounds, *more], pki, options.library, FOLLOW)
            results.check(f"threads follow {more} on OpenSSL {build}", out == "0 wrong\nexit 0\n", out[-200:])
        program = builds.compile_c([HERE / "resumed.c"], builds.WORK / "bin" / f"resumed-{build}", build)
        stock = RESUMED.format("accepted, resumed, 0", "resumed")
        for label, wanted, arguments in (
                ("sessions in stock", stock, ()), ("sessions without following", stock, (options.library,)),
                ("sessions that are followed", RESUMED.format("refused, full, 20", "full"), (options.library, FOLLOW))):
            out = run(program, [], pki, *arguments)
            results.check(f"{label} on OpenSSL {build}", out == wanted, first_difference(wanted, out))
    for build in options.builds:
        sessions(results, options, pki, build)
        touched(results, options, pki, build)

#!/usr/bin/env python3
"""Whole-process tests of the preload library: threads, fork, shared subjects,
programs that edit certificates, several libcryptos in one process,
dlopen(RTLD_LOCAL), secure execution.

    process.py --library L [--sabotaged S] [--only threads,fork,...] [--rounds N]

The threaded programs judge themselves; the others run stock and with the
library, and both must say the same.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile

import builds
import change
import editors
import follow
import one_store
import one_subject
import sights
from generate.forge import Signer
from generate.pki import Pki
from programs import Results, execute, same_in_both, write_files

HERE = pathlib.Path(__file__).resolve().parent
NOBODY = 65534


def stress(results, options, pki, mode, rounds):
    """64 threads or forks while the source changes; the program judges itself."""
    for build in options.builds:
        program = builds.compile_c([HERE / "process" / "stress.c"],
                                   builds.WORK / "bin" / f"stress-{build}", build)
        folder = pathlib.Path(tempfile.mkdtemp(dir=builds.WORK))
        value = pki.hash_of("Root 0")
        write_files(folder, {
            "root-a.pem": pki.pem("r0"), "root-b.pem": pki.pem("r1"), "both.pem": pki.pem("r0", "r1"),
            "leaf-a.pem": pki.pem("leaf0"), "leaf-b.pem": pki.pem("leaf1"),
            f"dir/{value}.0": pki.pem("r0"),
        })
        out = execute([program, ".", mode, rounds], folder, options.library)
        results.check(f"{mode} on OpenSSL {build}", out.endswith("exit 0\n"), out)
        shutil.rmtree(folder)


def forking(results, options, forks):
    """Children of a process whose threads make stores can still open shared objects."""
    for build in options.builds:
        program = builds.compile_c([HERE / "process" / "forking.c"], builds.WORK / "bin" / f"forking-{build}", build)
        out = execute([program, builds.stand_in(), forks], builds.WORK, options.library)
        results.check(f"forks while threads make stores on OpenSSL {build}", out == "0 hung\nexit 0\n", out)


def cancelled(results, options, pki):
    """A thread that is cancelled inside a hooked function ends as without the library, which may also be switched
    off."""
    for build in options.builds:
        program = builds.compile_c([HERE / "process" / "cancelled.c"], builds.WORK / "bin" / f"cancelled-{build}",
                                   build)
        folder = pathlib.Path(tempfile.mkdtemp(dir=builds.WORK))
        write_files(folder, {"root.pem": pki.pem("r0")})
        os.mkfifo(folder / "fifo")
        for how, env in (("", {}), (", switched off", {"WINDLASS_DISABLE": "1"})):
            same_in_both(results, f"cancelled on OpenSSL {build}{how}", [program, "fifo", "root.pem"], folder,
                         options.library, env=env)
        shutil.rmtree(folder)


def plugins(results, options, pki):
    """Plugins of the same layout, linked against different libcryptos: one comes to lie where another was."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=builds.WORK))
    write_files(folder, {"root.pem": pki.pem("r0")})
    host = builds.compile_c([HERE / "process" / "plugins.c"], builds.WORK / "bin" / "plugins", "system", libraries=())
    of_3, of_4 = (builds.compile_c([HERE / "process" / "plugin.c"], builds.WORK / "bin" / f"plugin-{build}.so", build,
                                   ("-shared", "-fPIC"), ("-lcrypto",)) for build in ("3.5.5", "4.0.3"))
    same_in_both(results, "plugins opened and closed in turn", [host, "root.pem", *[of_3, of_4] * 3], folder,
                 options.library)
    shutil.rmtree(folder)


SCRIPT = """bag 0 all.pem
ctx 0
ctx_locations 0 roots.pem dir
ctx_store 0 0
verify 0 0:13
verify 0 0:19
verify 0 0:15
objects 0
store 1
locations 1 relatives.pem -
verify 1 0:13
subject 1 0:0
objects 1
locations 1 missing.pem -
ca_file 0 roots.pem
env SSL_CERT_FILE other.pem
ctx 2
ctx_default 2
ctx_store 2 2
verify 2 0:18
objects 2
env SSL_CERT_FILE -
"""


def driver_library(build):
    """The driver as a shared library that keeps its symbols to itself."""
    sources = sorted((HERE / "driver").glob("*.c"))
    exported = builds.WORK / "bin" / "driver.map"
    exported.parent.mkdir(parents=True, exist_ok=True)
    exported.write_text("{ global: driver_main; local: *; };\n")
    return builds.compile_c(
        sources, builds.WORK / "bin" / f"driver-{build}.so", build,
        ("-shared", "-fPIC", "-Dmain=driver_main", f"-Wl,--version-script={exported}"))


def several_libraries(results, options, pki):
    """Two and three libcryptos in one process, one of them linked."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=builds.WORK))
    write_files(folder, dict(pki.files(), script=SCRIPT.encode()))
    # Two libraries of one soname cannot be in one process, so 3.x is never beside 3.x.
    combinations = {
        "system": (("system",), ("1.1.1w",), ("4.0.3", "1.1.1w"), ("1.1.1w", "system", "4.0.3")),
        "1.1.1w": (("1.1.1w",), ("3.5.5",), ("system", "1.1.1w"),
                   ("3.5.5-bsymbolic", "1.1.1w", "4.0.3-bsymbolic")),
        "4.0.3": (("1.1.1w", "3.5.5"), ("system", "1.1.1w-bsymbolic"), ("4.0.3", "system")),
    }
    for linked, choices in combinations.items():
        host = builds.compile_c([HERE / "process" / "host.c"], builds.WORK / "bin" / f"host-{linked}",
                                linked)
        for guests in choices:
            command = [host]
            for guest in guests:
                command += [driver_library(guest), "script"]
            same_in_both(results, f"linked with {linked}, dlopens {', '.join(guests)}", command,
                         folder, options.library)
    shutil.rmtree(folder)


def secure_execution(results, options, pki):
    """A setuid program: the loader ignores LD_PRELOAD; from /etc/ld.so.preload
    the library is mapped but must do nothing, not even a sabotaged one."""
    if os.geteuid() != 0:
        results.check("secure execution (needs root: run `sudo make test-process`)", False)
        return
    folder = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp"))
    folder.chmod(0o755)
    write_files(folder, dict(pki.files(), script=(SCRIPT + "secure\nmapped windlass\n").encode()))
    plain, setuid = folder / "driver", folder / "driver-setuid"
    for copy in (plain, setuid):
        shutil.copy(builds.driver("system"), copy)
        copy.chmod(0o755)
    os.chown(setuid, NOBODY - 1, NOBODY - 1)
    setuid.chmod(0o4755)
    library = folder / "libwindlass_preload.so"
    shutil.copy(options.sabotaged or options.library, library)
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    for program, ignores in ((plain, False), (setuid, True)):
        env = {"WINDLASS_SABOTAGE": "reversed", "WINDLASS_STATS": str(folder / "none")}
        stock = execute([program, "script"], folder, env=env, **as_nobody)
        now = execute([program, "script"], folder, library, env=env, **as_nobody)
        expected = "windlass 0" if ignores else "windlass 1"
        results.check(f"{program.name}: LD_PRELOAD {'is ignored' if ignores else 'works'}",
                      expected in now and f"secure execution {int(ignores)}" in now
                      and (not ignores or stock == now), f"stock:\n{stock}\nnow:\n{now}")
        everywhere = preload_everywhere(library, folder, program, env, as_nobody)
        results.check(f"{program.name}: in /etc/ld.so.preload it is mapped"
                      f"{' and does nothing' if ignores else ''}",
                      "windlass 1" in everywhere
                      and (not ignores or everywhere.replace("windlass 1", "windlass 0") == stock),
                      f"stock:\n{stock}\nnow:\n{everywhere}")
    shutil.rmtree(folder)


def preload_everywhere(library, folder, program, env, as_nobody):
    """Runs the program with /etc/ld.so.preload naming the library, in a mount
    namespace of its own: nothing outside sees the changed /etc."""
    etc = folder / "etc"
    script = (f"set -e; mkdir {etc}; mount -t tmpfs none {etc}; cp -a /etc/. {etc}/; "
              f"echo {library} >{etc}/ld.so.preload; mount --bind {etc} /etc; cd {folder}; "
              f"exec setpriv --reuid={as_nobody['user']} --regid={as_nobody['group']} "
              f"--clear-groups {program} script")
    out = execute(["unshare", "-m", "--propagation", "private", "sh", "-c", script], folder, env=env)
    etc.rmdir()
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--sabotaged", type=pathlib.Path, help="built with feature sabotage")
    parser.add_argument("--builds", default=",".join(builds.BUILDS))
    parser.add_argument("--only", default="threads,fork,forking,pinned,shared,race,growth,mixture,unseen,"
                        "removed,handed,late,shortage,editors,asked,asked_of_libssl,cancelled,plugins,changed,"
                        "configured,nested,narrow,between,herd,detached,follow,sights,libraries,secure")
    parser.add_argument("--rounds", type=int, default=1, help="multiplies the soak's rounds")
    options = parser.parse_args()
    options.library = options.library.resolve()
    options.builds = options.builds.split(",")
    # They stand for the others: one whose own calls are seen, one where they are not, and a table.
    options.few = [build for build in options.builds
                   if build in ("system", "3.5.5-bsymbolic", "4.0.3") or options.rounds > 1]
    builds.WORK.mkdir(parents=True, exist_ok=True)
    signer = Signer(str(builds.signer()))
    pki, results = Pki(signer), Results()
    chosen = options.only.split(",")
    for mode, rounds in (("threads", 25), ("fork", 60), ("pinned", 2)):
        if mode in chosen:
            stress(results, options, pki, mode, rounds * options.rounds)
    if "forking" in chosen:
        forking(results, options, 1000 * options.rounds)
    if "shared" in chosen:
        one_subject.shared(results, options, pki, 600 * options.rounds)
    for mode in (one_subject.late, one_subject.shortage, one_store.unseen, one_store.removed, one_store.handed):
        if mode.__name__ in chosen:
            mode(results, options, pki)
    if "race" in chosen:
        one_store.race(results, options, pki, 8000 * options.rounds)
    if "growth" in chosen:
        one_store.growth(results, options, pki, 100_000 * options.rounds)
    if "mixture" in chosen:
        one_store.mixture(results, options, pki, 3 if options.rounds == 1 else 4)
    if "editors" in chosen:
        editors.editors(results, options, pki)
    for mode in (editors.asked, editors.asked_of_libssl):
        if mode.__name__ in chosen:
            mode(results, options, pki)
    if "cancelled" in chosen:
        cancelled(results, options, pki)
    if "plugins" in chosen:
        plugins(results, options, pki)
    for mode in (change.changed, change.configured, change.nested, change.narrow, change.between):
        if mode.__name__ in chosen:
            mode(results, options, pki)
    if "herd" in chosen:
        change.herd(results, options, pki, 10 * options.rounds)
    if "detached" in chosen:
        change.detached(results, options, pki, 5 * options.rounds)
    if "follow" in chosen:
        follow.follow(results, options, pki, 100 * options.rounds)
    if "sights" in chosen:
        sights.sights(results, options, pki, 20 * options.rounds)
    if "libraries" in chosen:
        several_libraries(results, options, pki)
    if "secure" in chosen:
        secure_execution(results, options, pki)
    signer.close()
    print(f"process: {results.passed} passed, {results.failed} failed")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())

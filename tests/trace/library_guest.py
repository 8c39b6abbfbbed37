"""What a program can do to the library, and what the library must not do to a program."""

import functools
import os
import resource
import subprocess

import builds
from library_counts import judge_lines
from library_world import CLEAN, HERE, events_of, of

NOBODY = 65534


def cases(world):
    for case in (off, file_faults, secure, limits, closed_streams, descriptors, children, forks, threads, left_loads,
                 two_libraries, hidden_calls, python_frames, ruby_frames, other_allocator, beside_preload,
                 before_preload, preload_comes_and_goes, found_by_name):
        yield f"guest: {case.__name__.replace('_', ' ')}", functools.partial(case, world)


def program(world):
    return world.c(HERE / "programs" / "library.c", "-lssl", "-lcrypto")


def strange(world):
    return world.c(HERE / "programs" / "strange.c", "-lssl", "-lcrypto", "-ldl", flags=("-rdynamic",))


def loads(events, depth=0):
    return [load for load in of(events, "load") if load["depth"] == depth]


def same(world, command, env=None, **more):
    """Traces it; the output must be that of stock. The events."""
    stock = world.run(command, env, **more)
    done, events = world.trace(command, env, **more)
    assert (done.returncode, done.stdout, done.stderr) == (stock.returncode, stock.stdout, stock.stderr), (stock, done)
    judge_lines(events)
    return events


def off(world):
    """Without a variable, or with one that is no absolute path, nothing is written anywhere: to no file, and to no
    import slot."""
    for command in ([program(world), "load", world.few], [strange(world), "where"]):
        stock = world.run(command)
        for value in (None, "", "events", "./events"):
            file = world.fresh()
            env = {"LD_PRELOAD": str(world.library)} | ({"WINDLASS_TRACE": value} if value is not None else {})
            done = world.run(command, env, cwd=world.folder)
            assert (done.returncode, done.stdout, done.stderr) == (0, stock.stdout, b""), done
            assert file.read_bytes() == b"", value
    done, _ = world.trace(command)
    assert done.stdout.decode().split() == [str(world.library)] * 3, done


def file_faults(world):
    """A file that is not there, can't be written or is no file: nothing happens, and nothing waits."""
    command = [program(world), "load", world.few]
    fifo, folder, link = world.folder / "fifo", world.folder / "folder", world.folder / "link"
    os.mkfifo(fifo)
    folder.mkdir()
    link.symlink_to(world.fresh())
    gone = world.folder / "gone"
    for path in (gone, folder, fifo, link, "/dev/full", "/proc/self/mem"):
        done = world.run(command, {"LD_PRELOAD": str(world.library), "WINDLASS_TRACE": str(path)})
        assert (done.returncode, done.stdout, done.stderr) == (0, b"2\n", b""), (path, done)
    assert not gone.exists() and events_of(world.folder / "events") == []
    # A reader at the FIFO gets nothing either.
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    world.run(command, {"LD_PRELOAD": str(world.library), "WINDLASS_TRACE": str(fifo)})
    assert os.read(reader, 100) == b""
    os.close(reader)


def secure(world):
    """A set-user-ID program that the library gets into all the same (by /etc/ld.so.preload)."""
    assert os.geteuid() == 0, "needs root: sudo make test-trace-library"
    world.folder.chmod(0o755)
    plain = program(world)
    setuid = world.folder / "setuid"
    setuid.write_bytes(plain.read_bytes())
    os.chown(setuid, NOBODY - 1, NOBODY - 1)
    setuid.chmod(0o4755)
    library = world.folder / "secure.so"
    library.write_bytes(world.library.read_bytes())
    library.chmod(0o4755)
    file = world.fresh()
    file.chmod(0o666)
    world.few.chmod(0o644)

    def as_nobody(path):
        # In a mount namespace of its own: nothing outside sees the changed /etc.
        etc = world.folder / "etc"
        etc.mkdir()
        script = f"set -e; mount -t tmpfs none {etc}; cp -a /etc/. {etc}/; echo {library} >{etc}/ld.so.preload; " \
                 f"mount --bind {etc} /etc; exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups " \
                 f"{path} load {world.few}"
        done = world.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script],
                         {"WINDLASS_TRACE": str(file)})
        etc.rmdir()
        return done

    done = as_nobody(setuid)
    assert (done.returncode, done.stdout) == (0, b"2\n"), done
    assert not [event for event in events_of(file)
                if event.get("exe") == str(setuid)] and not of(events_of(file), "load")
    # The same without set-user-ID is recorded: the list works.
    done = as_nobody(plain)
    assert (done.returncode, done.stdout) == (0, b"2\n"), done
    assert len(loads(events_of(file))) == 1


def limits(world):
    """RLIMIT_FSIZE: a write beyond it would end the program by SIGXFSZ. RLIMIT_NOFILE: nothing can be opened."""
    command = [program(world), "load", world.few]
    stock = world.run(command)
    for size in (0, 100, 1000):
        file = world.fresh()
        limit = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size))
        env = {"LD_PRELOAD": str(world.library), "WINDLASS_TRACE": str(file)}
        done = world.run(command, env, preexec_fn=limit)
        assert (done.returncode, done.stdout, done.stderr) == (0, stock.stdout, b""), done
        assert file.stat().st_size <= size
    # A program for which SIGXFSZ was pending and held still finds it so: python's own view.
    check = "import signal,os,ssl,sys\nsignal.pthread_sigmask(signal.SIG_BLOCK,[signal.SIGXFSZ])\n" \
            "os.kill(os.getpid(),signal.SIGXFSZ)\nssl.create_default_context(cafile=sys.argv[1])\n" \
            "print(signal.sigpending(),signal.pthread_sigmask(signal.SIG_BLOCK,[]))"
    for size in (0, 1 << 30):
        same(world, ["/usr/bin/python3", "-B", "-c", check, world.few],
             preexec_fn=functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size)))


def closed_streams(world):
    """A program whose standard streams are closed: a descriptor of ours never takes their numbers for long enough to
    write."""
    file, log = world.fresh(), world.folder / "strace"
    shell = f"exec 0<&- 1>&- 2>&-; exec {program(world)} load {world.few}"
    env = CLEAN | {"WINDLASS_TRACE": str(file)}
    subprocess.run(["strace", "-f", "-qq", "-E", f"LD_PRELOAD={world.library}", "-e", "trace=write", "-o", str(log),
                    "sh", "-c", shell],
                   env=env, check=False, timeout=300)
    assert len(loads(events_of(file))) == 1
    writes = [line for line in log.read_text().splitlines() if '"{\\"e\\":' in line]
    assert writes and not any(f"write({number}," in line for line in writes for number in range(3)), writes


def descriptors(world):
    """None stays open."""
    same(world, [program(world), "descriptors", world.few])


def children(world):
    """fork and exec: each process has events of its own, and nothing is said twice."""
    events = same(world, [program(world), "children", world.few])
    processes = of(events, "process")
    assert len(processes) == 3 and len({one["pid"] for one in processes}) == 3, processes
    parent, child, grandchild = (one["pid"] for one in processes)
    assert [processes[1]["ppid"], processes[2]["ppid"]] == [parent, child]
    assert processes[2]["args"][1] == "load"
    count = lambda pid: [load["entry"] for load in loads(events) if load["pid"] == pid]  # noqa: E731
    assert sorted(count(parent)) == ["X509_STORE_add_cert", "X509_STORE_load_locations"], events
    assert count(child) == count(grandchild) == ["X509_STORE_load_locations"], events
    assert {one["pid"] for one in of(events, "exit")} == {parent, child, grandchild}


def forks(world):
    """Forked while other threads load and write: no child waits for a thread that it has not."""
    events = same(world, [program(world), "forks", world.few])
    parent, *born = (one["pid"] for one in of(events, "process"))
    assert len(born) == 60 and parent not in born, born
    # Each found its stack, and told of what it added before `_exit`.
    assert all(any(event["pid"] == child for event in of(events, "module")) for child in born), events
    added = [load for load in loads(events) if load["entry"] == "X509_STORE_add_cert"]
    assert sorted(load["pid"] for load in added) == sorted(born) and {load["calls"] for load in added} == {1}, added
    assert {load["pid"] for load in loads(events) if load not in added} == {parent}


def threads(world):
    """Eight threads, four loads each, and one afterwards."""
    events = same(world, [program(world), "threads", world.few])
    outer = loads(events)
    assert len(outer) == 33 and len({load["tid"] for load in outer}) == 9, outer
    assert {load["certificates"] for load in outer} == {2}
    assert len(of(events, "release")) == 33


def left_loads(world):
    """A load that is left by longjmp, and one that is cancelled, leave no event, and no trace in the depth of
    others."""
    fifo = world.folder / "left"
    os.mkfifo(fifo)
    command = [program(world), "leave", world.few, fifo]
    stock, off = world.run(command), world.run(command, {"LD_PRELOAD": str(world.library)})
    assert (off.returncode, off.stdout, off.stderr) == (0, stock.stdout, b""), off
    events = same(world, command)
    assert [load["sources"][0]["path"] for load in loads(events)] == [str(world.few)] * 2, events
    assert max(load["depth"] for load in of(events, "load")) <= 4


def two_libraries(world):
    """Two libcryptos in one process, each used by a module: no call reaches the other one."""
    source = HERE / "programs" / "module.c"
    modules = [world.c(source, "-lssl", "-lcrypto", name=f"module-{build}.so",
                       flags=("-shared", "-fPIC", *builds.flags_for(build)))
               for build in ("system", "1.1.1w")]
    # The program itself is linked against neither.
    host = world.folder / "host"
    text = (HERE / "programs" / "host.c")
    world.c(text, name="host")
    events = same(world, [host, *modules, world.few])
    found = [(load["library"].split(" (")[0].rsplit(".", 1)[0], load["certificates"]) for load in loads(events)]
    assert [library for library, _ in found] == ["OpenSSL 3.0", "OpenSSL 1.1"] * 2, found
    assert {count for _, count in found} == {2}, found


def hidden_calls(world):
    """-Bsymbolic: only what the program calls is seen, and what can't be known is null."""
    for build in ("1.1.1w", "3.5.5", "4.0.3"):
        for kind in ("", "-bsymbolic"):
            name = f"library-{build}{kind}"
            command = world.c(HERE / "programs" / "library.c", "-lssl", "-lcrypto", name=name,
                              flags=builds.flags_for(build + kind))
            events = same(world, [command, "load", world.few])
            (outer,) = loads(events)
            assert (outer["certificates"], outer["result"]) == (2, 1), outer
            assert outer["parsed"] == (None if kind else 2), outer
            assert bool(loads(events, 1)) == (kind == ""), events
            same(world, [command, "entries", world.few, world.capath, f"file:{world.few}"])
            events = same(world, [command, "add", world.few])
            for store, sums in zip(dict.fromkeys(load["store"] for load in loads(events)), ((4, 2), (2, 2)),
                                   strict=True):
                own = [load for load in loads(events) if load["store"] == store]
                assert (sum(load["calls"] for load in own), sum(load["certificates"] for load in own)) == sums, events
                assert [load.get("more", False) for load in own] == [False, True], own


def python_frames(world):
    """The interpreter's frames, with the lock given away (as _ssl does) and on a thread."""
    code = "import ssl,threading,sys\ndef inner():\n    ssl.create_default_context(cafile=sys.argv[1])\n" \
           "thread = threading.Thread(target=inner)\nthread.start()\nthread.join()\ninner()\n"
    events = same(world, ["/usr/bin/python3", "-B", "-c", code, world.few])
    on_thread, on_main = loads(events)
    frames = [(frame["line"], frame["function"]) for frame in on_main["script"] if frame["file"] == "<string>"]
    assert frames == [(3, "inner"), (7, "<module>")], on_main
    assert [frame["function"] for frame in on_thread["script"] if frame["file"] == "<string>"] == ["inner"], on_thread
    assert on_thread["script"][-1]["function"] == "_bootstrap", on_thread


def ruby_frames(world):
    """As a profiler would see them."""
    script = world.folder / "frames.rb"
    script.write_text("require 'openssl'\ndef inner\n  OpenSSL::X509::Store.new.add_file(ARGV[0])\nend\n[1].each { "
                      "inner }\n")
    events = same(world, ["/usr/bin/ruby", script, world.few])
    load = loads(events)[-1]
    found = [(frame["line"], frame["function"]) for frame in load["script"] if frame["file"] == str(script)]
    assert found == [(3, "inner"), (5, "block in <main>"), (5, "<main>")], load


def other_allocator(world):
    """With an allocator of its own, the C library's numbers say nothing."""
    source = world.folder / "allocator.c"
    source.write_text("#include <stddef.h>\nvoid *__libc_malloc(size_t);\nvoid *malloc(size_t size) { return "
                      "__libc_malloc(size); }\n")
    allocator = world.c(source, name="allocator.so", flags=("-shared", "-fPIC"))
    command = [program(world), "load", world.few]
    (known,) = loads(same(world, command))
    assert known["memory"] > 1000, known
    # At a fixed address `malloc` seems to be the executable's own.
    fixed = world.c(HERE / "programs" / "library.c", "-lssl", "-lcrypto", name="library-fixed",
                    flags=("-no-pie", "-fno-pie"))
    (known,) = loads(same(world, [fixed, "load", world.few]))
    assert known["memory"] > 1000, known
    _, events = world.trace(command, {"LD_PRELOAD": f"{world.library}:{allocator}"})
    assert loads(events)[0]["memory"] is None, events


def beside_preload(world):
    """A machine may preload libwindlass_preload.so everywhere. Switched off, it passes on what comes to it, in whatever
    order they stand."""
    preload = preload_library(world)
    programs = ([program(world), "entries", world.few, world.capath, f"file:{world.few}"],
                ["/usr/bin/python3", "-B", "-c",
                 "import ssl, sys; print(ssl.create_default_context(cafile=sys.argv[1]).get_ca_certs())", world.few])
    for command in programs:
        stock = world.run(command)
        alone = loads(world.trace(command)[1])
        for order in (f"{world.library}:{preload}", f"{preload}:{world.library}"):
            done, events = world.trace(command, {"LD_PRELOAD": order, "WINDLASS_DISABLE": "1"})
            assert (done.returncode, done.stdout, done.stderr) == (0, stock.stdout, b""), (order, done)
            assert [load["entry"] for load in loads(events)] == [load["entry"] for load in alone], events


def preload_library(world):
    preload = world.library.with_name("libwindlass_preload.so")
    assert preload.is_file(), f"no library {preload}: build it with cargo build --release -p windlass-preload"
    return preload


def before_preload(world):
    """Switched on, the preload library serves behind the trace, in whatever order they stand."""
    preload = preload_library(world)
    python = "import ssl, sys; print(len(ssl.create_default_context(cafile=sys.argv[1]).get_ca_certs()))"
    programs = ([program(world), "entries", world.few, world.capath, f"file:{world.few}"],
                [program(world), "load", world.bundle], [program(world), "threads", world.few],
                [program(world), "children", world.few], [program(world), "add", world.few],
                ["/usr/bin/python3", "-B", "-c", python, world.bundle],
                ["/usr/bin/curl", "-sS", "--cacert", world.bundle, world.url])
    for command in programs:
        served = world.run(command, {"LD_PRELOAD": str(preload)})
        alone = sorted(load["entry"] for load in loads(world.trace(command)[1]))
        for order in (f"{world.library}:{preload}", f"{preload}:{world.library}"):
            done, events = world.trace(command, {"LD_PRELOAD": order})
            assert (done.returncode, done.stdout, done.stderr) == (0, served.stdout, b""), (order, served, done)
            assert sorted(load["entry"] for load in loads(events)) == alone, (order, alone, events)
            # What libcrypto adds by itself is not all that the store holds.
            assert {load["parsed"] for load in loads(events) if load["store"]
                    and load["entry"] != "X509_STORE_add_cert"} <= {None}, events
            if command[1] == "load":
                assert [load["depth"] for load in of(events,
                                                     "load")] == [0], f"the preload library does not serve: {events}"


def preload_comes_and_goes(world):
    """The preload library gets behind the trace when it is loaded later, and out of the way."""
    command = [world.c(HERE / "programs" / "beside.c", "-lssl", "-lcrypto", "-ldl"), world.bundle]
    stock = world.run(command)
    for first in (world.library, f"{world.library}:{preload_library(world)}",
                  f"{preload_library(world)}:{world.library}"):
        done, events = world.trace([*command, preload_library(world)], {"LD_PRELOAD": str(first)})
        assert (done.returncode, done.stdout, done.stderr) == (0, stock.stdout, b""), (first, stock, done)
        judge_lines(events)
        assert [load["entry"] for load in loads(events)] == ["X509_STORE_load_locations"] * 12, (first, events)
        # What libcrypto does in a load is an event of depth 1, unless the preload library answers.
        served = [index for index in range(12) if not nested(events)[index]]
        assert served == [*(() if first == world.library else (0, 1, 2)), 3, 4, 5, 9, 10, 11], (first, nested(events))


def nested(events):
    """How many loads stand before each one of depth 0 that belong to it."""
    counts = [0]
    for load in of(events, "load"):
        if load["depth"]:
            counts[-1] += 1
        else:
            counts.append(0)
    return counts


def found_by_name(world):
    """Functions that a program finds with dlsym: ctypes."""
    code = "import ctypes as c, sys\ncrypto, ssl = c.CDLL('libcrypto.so.3'), c.CDLL('libssl.so.3')\n" \
           "for f in (crypto.X509_STORE_new, ssl.TLS_client_method, ssl.SSL_CTX_new): f.restype = c.c_void_p\n" \
           "store = c.c_void_p(crypto.X509_STORE_new())\n" \
           "print(crypto.X509_STORE_load_locations(store, sys.argv[1].encode(), None))\n" \
           "crypto.X509_STORE_free(store)\n" \
           "context = c.c_void_p(ssl.SSL_CTX_new(c.c_void_p(ssl.TLS_client_method())))\n" \
           "print(ssl.SSL_CTX_load_verify_locations(context, sys.argv[1].encode(), None))\nssl.SSL_CTX_free(context)\n"
    events = same(world, ["/usr/bin/python3", "-B", "-c", code, world.few])
    found = [(load["entry"], load["certificates"], load["parsed"], load["script"][0]["line"]) for load in loads(events)]
    assert found == [("X509_STORE_load_locations", 2, 2, 5), ("SSL_CTX_load_verify_locations", 2, 2, 8)], found
    assert len(of(events, "release")) == 2, events
    # With the global scope as handle, and by a version.
    found = loads(same(world, [strange(world), "names", world.few]))
    assert [load["entry"] for load in found] == ["X509_STORE_load_locations"] * 3, found

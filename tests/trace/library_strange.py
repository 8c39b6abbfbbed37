"""Programs of an unusual make, which have to run as they do without the library; and ends and surroundings of which it
still has to tell."""

import functools
import resource
import signal
import subprocess

from library_guest import loads, same, strange
from library_world import HERE, of

TOKEN = "pkcs11:model=p11-kit-trust;manufacturer=PKCS%2311%20Kit"
PYTHON = ("/usr/bin/python3", "-B", "-c")


def cases(world):
    for case in (coroutines, signal_frames, cut_objects, replaced_objects, small_stack, own_lookup, plugin, wrappers,
                 token, file_size, fragments, silent_ends, nothing_can_be_opened, ossl_store,
                 relative_paths, namespaces, another_file, exceptions):
        yield f"strange: {case.__name__.replace('_', ' ')}", functools.partial(case, world)


def program(world):
    return strange(world)


def coroutines(world):
    """A load on a stack of the program's own, below which lies anything."""
    events = same(world, [program(world), "coroutines", world.few])
    assert len(loads(events)) == 40 and all(load["stack"] for load in loads(events))
    # Where the stack is whole, so are the frames: load, with_frame, main, and libc's.
    (load,) = loads(same(world, [program(world), "frame", world.few]))
    assert len({module for module, _ in load["stack"]}) == 2 and len(load["stack"]) >= 5, load


def signal_frames(world):
    """A load in a handler: the frames go on with what was interrupted."""
    (load,) = loads(same(world, [program(world), "signal", world.few]))
    plain = loads(same(world, [program(world), "frame", world.few]))[0]["stack"]
    assert load["stack"][-1] == plain[-1] and len(load["stack"]) > len(plain), (load, plain)


def passage(world, name):
    return world.c(HERE / "programs" / "passage.c", name=f"{name}.so", flags=("-shared", "-fPIC", f"-DNAME={name}"))


def objects(world):
    return world.c(HERE / "programs" / "objects.c", "-lssl", "-lcrypto", "-ldl")


def cut_objects(world):
    """A library on the stack whose headers or tables can't be read any more: its file was made shorter, or its pages
    are protected."""
    whole, copy = passage(world, "first").read_bytes(), world.folder / "cut.so"
    # Headers, code, tables: a page each.
    for mode, at, tables in (("unreadable", 0, False), ("unreadable", 8192, False), ("unreadable", 12288, True),
                             ("truncated", 8192, False)):
        command = [objects(world), mode, world.few, copy, at]
        copy.write_bytes(whole)
        stock = world.run(command)
        copy.write_bytes(whole)
        done, events = world.trace(command)
        assert (done.returncode, done.stdout, done.stderr) == (stock.returncode, stock.stdout,
                                                               stock.stderr), (mode, at, stock, done)
        assert done.stdout.split() == [b"1", b"1"], done
        # The frames as far as there are tables.
        before, load = [load["stack"] for load in loads(events)]
        assert (load[-1] == before[-1]) == tables and (tables or len(load) == 2), (mode, at, load)


def replaced_objects(world):
    """A library that was loaded to the place of one that was unloaded is another one: by its name, or by its build
    id."""
    first, other = passage(world, "first"), passage(world, "other")
    assert len(str(first)) == len(str(other))
    events = same(world, [objects(world), "replaced", world.few, first, other])
    modules = {module["id"]: module["path"] for module in of(events, "module")}
    assert [modules[load["stack"][1][0]]
            for load in loads(events)[1:]] == [str(first), str(other)] * 5, (modules, loads(events))


def small_stack(world):
    """A coroutine's stack of 5 KiB, which has room for OpenSSL."""
    assert len(loads(same(world, [objects(world), "small", world.few]))) == 2


def own_lookup(world):
    """What is given to a method of the program's own is not looked at."""
    (load,) = loads(same(world, [program(world), "lookup", world.few]))
    assert (load["entry"], load["sources"][0]["path"]) == ("X509_LOOKUP_ctrl", str(world.few)), load


def plugin(world):
    """A load while another thread holds the dynamic linker's lock, and waits for this one. What the plugin itself calls
    before `dlopen` returns is not seen, but what libssl calls for that is."""
    plugin = world.c(HERE / "programs" / "plugin.c", "-lssl", "-lcrypto", name="plugin.so", flags=("-shared", "-fPIC"))
    command, env = ["timeout", "20", program(world), "plugin", world.few, plugin], {"SSL_CERT_FILE": str(world.few)}
    found = loads(same(world, command, env))
    assert sorted(load["entry"]
                  for load in found) == ["X509_STORE_load_locations"] * 2 + ["X509_STORE_set_default_paths_ex"], found
    assert all(load["parsed"] == 2 and load["library"] for load in found), found


def wrappers(world):
    """What another library puts in front of OpenSSL is called, as without us."""
    wrapper = world.c(HERE / "programs" / "wrapper.c", "-ldl", name="libwrapper.so", flags=("-shared", "-fPIC"))
    env = {"SSL_CERT_FILE": str(world.few)}
    stock = world.run([program(world), "default"], env | {"LD_PRELOAD": str(wrapper)})
    assert stock.stdout == b"42\n", stock
    done, events = world.trace([program(world), "default"], env | {"LD_PRELOAD": f"{world.library}:{wrapper}"})
    assert done.stdout == stock.stdout and len(loads(events)) == 1, (done, events)
    linked = world.c(HERE / "programs" / "strange.c", f"-L{world.folder}", "-Wl,--no-as-needed", "-lwrapper", "-lssl",
                     "-lcrypto", "-ldl", name="strange-wrapped", flags=(f"-Wl,-rpath,{world.folder}",))
    (load,) = loads(same(world, [linked, "default"], env))
    assert (load["result"], load["parsed"]) == (42, 2), load


def token(world):
    """A GnuTLS list that stands for a token is not asked for issuers."""
    pem = "/usr/share/ca-certificates/mozilla/ISRG_Root_X1.crt"
    events = same(world, [world.c(HERE / "programs" / "token.c", "-lgnutls"), pem, TOKEN])
    assert len(of(events, "verify")) == 600 and {one["anchor"] for one in of(events, "verify")} == {None}, events[-5:]


def file_size(world):
    """RLIMIT_FSIZE also holds for the memory in which Python's frames are written."""
    code = ("import signal,ssl,sys\nsignal.signal(signal.SIGXFSZ,signal.SIG_DFL)\n"
            "ssl.create_default_context(cafile=sys.argv[1])\nprint('survived')")
    for size in (0, 100):
        same_output(world, [*PYTHON, code, world.few],
                    preexec_fn=functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE,
                                                 (size, resource.RLIM_INFINITY)))


def same_output(world, command, **more):
    stock = world.run(command, **more)
    done = world.run(command, {"LD_PRELOAD": str(world.library), "WINDLASS_TRACE": str(world.fresh())}, **more)
    assert (done.returncode, done.stdout, done.stderr) == (stock.returncode, stock.stdout,
                                                           stock.stderr) and stock.returncode == 0, (stock, done)


def fragments(world):
    """Where it takes long to ask how much memory is in use, that is not asked again."""
    found = loads(same(world, [program(world), "fragments", world.few]))
    assert len(found) == 20 and [load["memory"] for load in found[2:]] == [None] * 18, found


def silent_ends(world):
    """Certificates that a program has added by itself, when it ends without a word."""
    data = ("import os,ssl,sys\nc = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)\n"
            "c.load_verify_locations(cadata=open(sys.argv[1]).read())\n")
    for end in ("os._exit(0)", f"os.kill(os.getpid(), {int(signal.SIGTERM)})", "os.execv('/bin/true', ['true'])"):
        found = loads(same(world, [*PYTHON, data + end, world.bundle]))
        calls = [load["calls"] for load in found]
        assert calls[:2] == [1, 15] and [load.get("more") for load in found[:2]] == [None, True], (end, found)
        assert {load["script"][0]["line"] for load in found} == {3}, found
    # Nothing is counted twice when it ends in order.
    found = loads(same(world, [*PYTHON, data + "del c", world.bundle]))
    assert sum(load["calls"] for load in found) == sum(load["parsed"] for load in found) == world.roots, found
    assert [bool(load.get("more")) for load in found] == [False] + [True] * (len(found) - 1), found
    assert len({(load["t"], load["store"]) for load in found}) == 1, found


def nothing_can_be_opened(world):
    """What can't be written is counted."""
    code = "import os,resource,ssl,sys\nresource.setrlimit(resource.RLIMIT_NOFILE,(30,30))\n" \
           "c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)\n" \
           "data = open(sys.argv[1]).read()\nheld = []\n" \
           "try:\n    while True: held.append(os.dup(0))\nexcept OSError: pass\n" \
           "c.load_verify_locations(cadata=data); del c\nfor one in held: os.close(one)\n"
    events = same(world, [*PYTHON, code, world.few])
    (lost,) = of(events, "lost")
    assert lost["events"] >= 2 and not loads(events), events


def ossl_store(world):
    """What OpenSSL adds by itself during a verification is not what the program has in memory."""
    events = same(world, [program(world), "store", world.folder / "leaf.pem", f"file:{world.few}"])
    added = [load for load in loads(events) if load["entry"] == "X509_STORE_add_cert"]
    assert added and {load["sources"][0]["kind"] for load in added} == {"uri"}, added
    assert [load["entry"] for load in loads(events)][0] == "X509_STORE_load_store", events


def relative_paths(world):
    """The working directory, where a path counts from it."""
    command = [program(world), "frame"]
    (load,) = loads(same(world, [*command, world.few.name], cwd=world.folder))
    assert (load["cwd"], load["sources"][0]["path"]) == (str(world.folder), world.few.name), load
    assert "cwd" not in loads(same(world, [*command, world.few]))[0]


def namespaces(world):
    """Processes of several namespaces have the same ids; also a parent and its child."""
    inner = f"{program(world)} frame {world.few}"
    events = same(world, ["unshare", "-pf", "sh", "-c", f"{inner}; unshare -pf {inner}; {inner}"])
    found = loads(events)
    assert len(found) == 3 and len({load["ns"] for load in found}) == 2, found
    assert len({(load["ns"], load["pid"]) for load in found}) == 3, found
    for load in found:
        ours = [one for one in of(events, "process") if (one["ns"], one["pid"]) == (load["ns"], load["pid"])]
        assert ours[-1]["args"][1] == "frame", (load, ours)


def another_file(world):
    """A file of the same name that somebody else has made is not written to."""
    command = [program(world), "frame", world.few]
    file = world.fresh()
    status = file.stat()
    right, wrong = f"{status.st_dev}:{status.st_ino}", f"{status.st_dev}:{status.st_ino + 1}"
    for identity, count in ((right, 1), (wrong, 0), ("", 0), ("x", 0), (str(status.st_ino), 0)):
        _, events = world.trace(command, {"WINDLASS_TRACE_FILE": identity})
        assert len(loads(events)) == count and bool(events) == bool(count), (identity, events)


def exceptions(world):
    """C++ exceptions of a program's callbacks pass through hooked functions, and what was left by one is not told
    of."""
    target = world.folder / "throws"
    subprocess.run(["g++", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations", "-o", target,
                    HERE / "programs" / "throws.cc", "-lcrypto"], check=True)
    events = same(world, [target, world.few, world.folder / "leaf.pem"])
    assert [one["ok"] for one in of(events, "verify")] == [False], events
    assert [(load["entry"], load["depth"]) for load in loads(events)] == [("X509_STORE_load_locations", 0)], events

"""What the events say, against counts that owe nothing to the library: callgrind counts the calls in the stock program,
strace the opens of the bundle, the server its handshakes."""

import collections
import functools
import re

from library_world import HERE, TESTS, of, tool

# Every hooked function that loads. X509_STORE_add_cert is in the events as a number.
LOADERS = re.compile(r"SSL_CTX_(set_default_verify_|load_verify_)\w+|X509_STORE_(load|set_default)_\w+"
                     r"|X509_load_cert_\w+"
                     r"|X509_LOOKUP_ctrl(_ex)?|SSL_load_client_CA_file\w*"
                     r"|SSL_add_(file|dir|store)_cert_subjects_to_stack"
                     r"|gnutls_certificate_set_x509_(system_trust|trust\w*)"
                     r"|gnutls_x509_trust_list_add_(system_trust|trust_\w+|cas)")


def cases(world):
    programs = TESTS / "e2e" / "programs"
    trust = {"SSL_CERT_FILE": str(world.bundle)}
    port = world.port
    own = functools.partial(world.c, HERE / "programs" / "library.c", "-lssl", "-lcrypto")
    gnutls = functools.partial(world.c, programs / "gnutls_client.c", "-lgnutls", flags=("-D_GNU_SOURCE",))
    commands = {
        # name: (command, environment, connections, contexts that are loaded)
        "python3": (lambda: ["/usr/bin/python3", "-B", HERE / "programs" / "client.py", port, world.bundle], {}, 2, 2),
        "ruby": (lambda: ["/usr/bin/ruby", HERE / "programs" / "client.rb", port], trust, 2, 3),
        "curl": (lambda: ["/usr/bin/curl", "-sS", "--cacert", world.bundle, world.url], {}, 1, 2),
        "wget": (lambda: ["/usr/bin/wget", "-q", "-O-", f"--ca-certificate={world.bundle}", world.url], {}, 1, None),
        "php": (lambda: ["/usr/bin/php", programs / "client.php", "get", world.url, "cafile", world.bundle], {}, 2,
                None),
        "crystal": (lambda: [world.crystal(), world.url], trust, 3, 3),
        "a C program with each function": (lambda: [own(), "entries", world.few, world.capath, f"file:{world.few}"],
                                           trust, 0, None),
        "a C program that adds": (lambda: [own(), "add", world.bundle], {}, 0, 2),
        "a C program with GnuTLS, file": (lambda: [gnutls(), "file", world.bundle, port], {}, 1, 1),
        "a C program with GnuTLS, directory": (lambda: [gnutls(), "dir", world.capath, port], {}, 1, 1),
        "a C program with GnuTLS, memory": (lambda: [gnutls(), "mem", world.bundle, port], {}, 1, 1),
    }
    for name, (command, env, connections, loads) in commands.items():
        yield f"counts: {name}", functools.partial(counted, world, command, env, connections, loads)


def counted(world, command, env, connections, loads):
    command = command()
    stock, seen = world.handshakes_of(lambda: world.run(command, env))
    assert stock.returncode == 0 and seen == connections, (stock, seen)
    (done, events), seen = world.handshakes_of(lambda: world.trace(command, env))
    assert (done.returncode, done.stdout, done.stderr) == (0, stock.stdout, stock.stderr), done
    assert seen == connections == len(of(events, "connection")), f"{seen} connections, {of(events, 'connection')}"

    all_loads = of(events, "load")
    outer = [load for load in all_loads if load["depth"] == 0]
    if loads is not None:
        assert len([load for load in outer if not load.get("more")]) == loads, outer
    calls = calls_in_stock(world, command, env)

    # Calls of each function, at whatever depth.
    expected = collections.Counter()
    for (caller, name), count in calls.items():
        # What GnuTLS adds from memory inside a load is no event.
        inside = name in ("gnutls_x509_trust_list_add_trust_mem",
                          "gnutls_x509_trust_list_add_cas") and caller.startswith("gnutls_")
        if LOADERS.fullmatch(name) and not inside:
            expected[name] += count
    found = collections.Counter(load["entry"] for load in all_loads if load["entry"] != "X509_STORE_add_cert")
    assert found == expected, f"events {dict(found)}\ncallgrind {dict(expected)}"

    # Certificates.
    total = lambda callee, caller=None: sum(  # noqa: E731
        count for (by, name), count in calls.items() if name == callee and caller in (None, by))
    if any(load["library"].startswith("OpenSSL") for load in outer):
        stores = [load for load in outer if load["store"]]
        assert sum(load["parsed"]
                   for load in stores) == total("X509_STORE_add_cert"), (outer, total("X509_STORE_add_cert"))
    else:
        parsed = total("gnutls_x509_crt_import", "gnutls_x509_crt_list_import")
        assert sum(load["certificates"] for load in outer) == parsed, (outer, parsed)

    # Opens of the bundle.
    readers = ("X509_load_cert_crl_file_ex", "gnutls_x509_trust_list_add_trust_file")
    reads = [load for load in all_loads if load["entry"] in readers
             and any(source["path"] == str(world.bundle) for source in load["sources"])]
    if "add" not in map(str, command[1:2]) and "mem" not in map(str, command[1:2]):
        assert len(reads) == opens_in_stock(world, command, env), reads

    # Who verified, and with what.
    verified = of(events, "verify")
    assert len(verified) == connections and all(one["ok"] for one in verified), verified
    assert {one["anchor"] for one in verified} == ({world.anchor} if connections else set()), verified
    judge_lines(events)


def judge_lines(events):
    """What holds for every file."""
    known, stores, begun = {}, set(), set()
    for event in events:
        kind, process = event["e"], event["pid"]
        if kind == "process":
            known[process] = {}
            begun.add(process)
        assert process in begun, f"no process before {event}"
        assert event["ns"] > 0, event
        if kind == "module":
            assert event["id"] == len(known[process]), event
            known[process][event["id"]] = event
        if kind == "load":
            assert (event["stack"] is not None) == (event["depth"] == 0), event
            assert all(module in known[process] for module, _ in event["stack"] or []), event
            assert event["wall"] >= 0 and event["cpu"] >= 0 and event["t"] > 0, event
            stores.add(event["store"])
        if kind == "release":
            assert event["store"] in stores, event


@functools.cache
def _pattern():
    return re.compile(r"c?fn=\((\d+)\)(?: (.*))?")


def calls_in_stock(world, command, env):
    """{(caller, callee): calls}, of the program and all its children."""
    for old in world.folder.glob("callgrind.*"):
        old.unlink()
    tracer = [tool("valgrind"), "--tool=callgrind", "--trace-children=yes", "-q",
              f"--callgrind-out-file={world.folder}/callgrind.%p"]
    done = world.run([*tracer, *command], env | {"LD_BIND_NOW": "1"})
    assert done.returncode == 0, done.stderr.decode()
    calls = collections.Counter()
    for file in world.folder.glob("callgrind.*"):
        names, caller, callee = {}, None, None
        for line in file.read_text(errors="replace").splitlines():
            match = _pattern().match(line)
            if match:
                number, name = match.groups()
                if name:
                    # Recursion and versions are marked: "f'2", "f@@V".
                    names[number] = name.split("'")[0].split("@")[0]
                if line.startswith("c"):
                    callee = names[number]
                else:
                    caller = names[number]
            elif line.startswith("calls="):
                calls[caller, callee] += int(line[6:].split()[0])
    return calls


def opens_in_stock(world, command, env):
    """How often the bundle is opened."""
    log = world.folder / "strace"
    done = world.run([tool("strace"), "-f", "-qq", "-e", "trace=open,openat", "-o", log, *command], env)
    assert done.returncode == 0, done.stderr.decode()
    return sum(f'"{world.bundle}"' in line and " = -1 " not in line for line in log.read_text().splitlines())

"""The rows of the table, one function each."""

import json
from concurrent.futures import ThreadPoolExecutor

import roots as made
from measure import (Row, alternate, cost, instructions, joined, median, quotients, ratio, run, run_json, system_calls,
                     wall_ms)
from server import Server

PYTHON = "/usr/bin/python3"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
RUBY = ("/usr/bin/ruby", "-ropenssl", "-e", "OpenSSL::X509::Store.new.set_default_paths")


def preload(world):
    return {"LD_PRELOAD": world.library}


def context(world):
    """Python's ssl.create_default_context() / ssl.SSLContext(PROTOCOL_TLS_CLIENT), in one process."""
    program, lives = world.programs / "context.py", world.count(40)
    stock, ours = alternate(world.count(8), lambda: run_json([PYTHON, program, lives // 4 + 1]),
                            lambda: run_json([PYTHON, program, lives * 5], preload(world)))
    windlass, limit = joined(ours, "verifying"), joined(ours, "unverified")
    stock_limit = joined(stock, "unverified")
    return [Row("context", "us", joined(stock, "verifying"), limit, windlass, ratio(windlass, limit), 1.15,
                "ssl.create_default_context() / ssl.SSLContext(), one Python process",
                extra={"unverified without Windlass": stock_limit})]


def command(world):
    """The Ruby command of row A / the same with SSL_CERT_FILE=/dev/null."""
    stock, limit, windlass, through_run = alternate(
        world.count(40), lambda: wall_ms(RUBY), lambda: wall_ms(RUBY, {"SSL_CERT_FILE": "/dev/null"}),
        lambda: wall_ms(RUBY, preload(world)), lambda: wall_ms([world.windlass, "run", "--", *RUBY]))
    how = "ruby: X509::Store.new.set_default_paths / with SSL_CERT_FILE=/dev/null"
    return [Row("A command", "ms", stock, limit, windlass, ratio(windlass, limit), 1.05, how),
            Row("A through `windlass run`", "ms", stock, limit, through_run, ratio(through_run, limit), None, how)]


def request(world):
    """Crystal's HTTPS GET with a fresh context / with one that loads no CAs; local nginx, TLS 1.3."""
    with Server(world.folder / "server") as server:
        program, trust = [world.built["request.cr"], server.url], {"SSL_CERT_FILE": server.bundle}
        stock, ours = alternate(world.count(8), lambda: run_json([*program, world.count(40)], trust),
                                lambda: run_json([*program, world.count(300)], {**trust, **preload(world)}))
    windlass, limit, reused = joined(ours, "fresh"), joined(ours, "sharing"), joined(ours, "reused")
    stock = joined(stock, "fresh")
    return [Row("B request", "us", stock, limit, windlass, ratio(windlass, limit), 1.05,
                "Crystal HTTPS GET, fresh context / fresh context that loads no CAs: it is given another's store"),
            Row("B over a reused context", "us", stock, reused, windlass, ratio(windlass, reused), None,
                "the same, fresh context / reused context")]


def trace(world):
    """Row B's program under `windlass trace` / alone."""
    # Else the layout of the heap decides: whether a freed bundle goes back to the kernel, and comes again page by page.
    allocator = {"MALLOC_TRIM_THRESHOLD_": "1000000000", "MALLOC_TOP_PAD_": "67108864",
                 "MALLOC_MMAP_THRESHOLD_": "1000000000"}
    with Server(world.folder / "traced-server") as server:
        argv = [world.built["request.cr"], server.url, world.count(40)]
        trust = {**allocator, "SSL_CERT_FILE": server.bundle}
        traced = [world.windlass, "trace", "--output", "/dev/null", "--", *argv]
        alone, ours = alternate(world.count(8), lambda: run_json(argv, trust), lambda: run_json(traced, trust))
    return [Row("trace", "us", joined(alone, "fresh"), None, joined(ours, "fresh"),
                ratio(joined(ours, "fresh"), joined(alone, "fresh")), 1.05,
                "Crystal HTTPS GET, fresh context: under `windlass trace` / alone"),
            Row("trace, no loads", "us", joined(alone, "reused"), None, joined(ours, "reused"),
                ratio(joined(ours, "reused"), joined(alone, "reused")), None, "the same, reused context")]


def memory(world):
    """Resident KiB added by a further verifying context, over an unverified one."""
    contexts = 200
    argv = [world.built["memory.c"], contexts]
    stock, ours = alternate(world.count(5), lambda: run_json(argv), lambda: run_json(argv, preload(world)))

    def added(results):
        return [(result["verifying"] - result["unverified"]) / contexts for result in results]

    windlass = added(ours)
    return [Row("memory", "KiB", added(stock), [result["unverified"] / contexts for result in ours], windlass,
                median(windlass), 8.0,
                "KiB that a further context adds over an unverified one (limit: all of an unverified one)")]


def many_roots(world):
    """A fresh context over a file of 100,000 roots / of 144."""
    few, many, some = (world.folder / f"roots-{count}.pem" for count in (144, 100_000, 4_000))
    for path, count in ((few, 144), (many, 100_000), (some, 4_000)):
        made.write_bundle(path, count, world.folder)
    made.let_age()
    program = world.built["roots.c"]
    ours = [run_json([program, world.count(300), few, many], preload(world)) for _ in range(world.count(3))]
    stock = run_json([program, 3, few, some])
    windlass = [value / 1000 for result in ours for value in result["lives"][1]]
    limit = [value / 1000 for result in ours for value in result["lives"][0]]
    return [Row("roots", "us", [value / 1000 for value in stock["lives"][1]], limit, windlass,
                ratio(windlass, limit), 1.1, "a fresh context at 100,000 roots / at 144 (stock: at 4,000)",
                extra={"stock at 144": [value / 1000 for value in stock["lives"][0]],
                       "first load of 100,000": [result["first"][1] / 1000 for result in ours]})]


def cold_index(world):
    """Indexing Debian's bundle for the first time in a process / OpenSSL loading it."""
    argv = [world.built["coldload.c"], BUNDLE]
    stock, index, ours = alternate(world.count(40), lambda: run_json(argv),
                                   lambda: int(run([world.cold_index, BUNDLE])) / 1000,
                                   lambda: run_json(argv, preload(world)))
    first, following = ([result[key] / 1000 for result in stock] for key in ("first", "next"))
    ours = [result["first"] / 1000 for result in ours]
    return [Row("cold index", "us", first, [], index, ratio(index, first), 0.05,
                "indexing the bundle / OpenSSL's first load of it in a process",
                extra={"OpenSSL's second load": following}),
            Row("first load, as the program sees it", "us", first, [], ours, ratio(ours, first), None,
                "X509_STORE_load_file() of a new process: opening, reading, indexing")]


def preload_tax(world):
    """/bin/true started by a shell, with our library and with an empty one preloaded."""
    turns = 100
    argv = ["/bin/sh", world.programs / "tax.sh", turns]
    empty = {"LD_PRELOAD": world.built["empty.c"]}
    none, limit, windlass = alternate(world.count(60), lambda: wall_ms(argv), lambda: wall_ms(argv, empty),
                                      lambda: wall_ms(argv, preload(world)))
    none, limit, windlass = ([taken * 1000 / turns for taken in side] for side in (none, limit, windlass))
    return [Row("preload tax", "us", none, limit, windlass, ratio(windlass, limit), 1.10,
                "/bin/true from a shell: our library / an empty one preloaded"),
            *(added_instructions(world, name, argv, bar)
              for name, argv, bar in (("/bin/true", ["/bin/true"], 80_000),
                                      ("curl", ["/usr/bin/curl", "--version"], 800_000)))]


def added_instructions(world, name, argv, bar):
    sides = (None, {"LD_PRELOAD": world.built["empty.c"]}, preload(world))
    none, limit, windlass = ([instructions(argv, env, world.folder)] for env in sides)
    return Row(f"preload tax, {name}", "instr", none, limit, windlass, windlass[0] - limit[0], bar,
               f"instructions of `{' '.join(argv)}` that our library adds to an empty one's (a difference)")


def threads(world):
    """Contexts a second with 2 threads / with 1; and the same for the stores alone, and for 2 processes \
that share nothing."""
    def rate(count, what, env=None):
        return lambda: float(run([world.built["threads.c"], count, 150, what], env))

    def processes(what, env=None):
        with ThreadPoolExecutor(2) as pool:
            return sum(pool.map(lambda _: rate(1, what, env)(), range(2)))

    ours = preload(world)
    (one, two, apart, stock_one, stock_two, limit_one, limit_two, limit_apart,
     store_one, store_two, empty_one, empty_two) = alternate(
        world.count(30), rate(1, "context", ours), rate(2, "context", ours), lambda: processes("context", ours),
        rate(1, "context"), rate(2, "context"),
        rate(1, "unverified"), rate(2, "unverified"), lambda: processes("unverified"),
        rate(1, "store", ours), rate(2, "store", ours), rate(1, "empty-store"), rate(2, "empty-store"))
    how = "a second by 2 threads / by 1 thread"
    gained = ratio(quotients(two, one), quotients(limit_two, limit_one))
    return [Row("threads", "/s", stock_two, limit_two, two, gained, 0.97,
                f"contexts {how}, over the same for unverified contexts without Windlass (limit)", at_least=True,
                extra={"Windlass, 1 thread": one, "stock, 1 thread": stock_one, "limit, 1 thread": limit_one}),
            Row("threads, 2 over 1", "/s", stock_two, limit_two, two, ratio(two, one), None, f"contexts {how}"),
            Row("threads, limit's 2 over 1", "/s", stock_two, limit_two, limit_two, ratio(limit_two, limit_one), None,
                f"unverified contexts {how}: what libssl itself reaches, without Windlass"),
            Row("threads, machine's own", "/s", [], limit_apart, apart, ratio(apart, one), None,
                "contexts a second by 2 processes of 1 thread, which share nothing / by 1: "
                "what this machine's cores reach"),
            Row("threads, store alone", "/s", [], empty_two, store_two, ratio(store_two, store_one), None,
                f"X509_STORE with default paths {how} (limit: empty stores without Windlass)",
                extra={"Windlass, 1 thread": store_one, "limit, 1 thread": empty_one})]


def unknown_issuer(world):
    """Looking up a subject that no root has: not dearer than in stock."""
    argv = [world.built["lookup.c"], world.count(500)]
    stock, ours = alternate(world.count(6), lambda: json.loads(run(argv)),
                            lambda: json.loads(run(argv, preload(world))))
    stock, windlass = ([value / 1000 for samples in side for value in samples] for side in (stock, ours))
    return [Row("unknown issuer", "us", stock, [], windlass, ratio(windlass, stock), None,
                "looking up a subject that no root has, default paths: Windlass / stock")]


def warm_start(world):
    """The first context of a process from a fresh compiled store / an unverified one in its place."""
    stores = world.folder / "stores"
    run([world.windlass, "compile", "--store", stores])
    ours, bare = {**preload(world), "WINDLASS_STORE": stores}, {**preload(world), "WINDLASS_STORE": ""}

    def warm(earlier, kind, env=None):
        return lambda: run_json([world.built["warm.c"], earlier, kind], env)

    stock, limit, first, without, stock_later, later = alternate(
        world.count(60), warm(0, "verifying"), warm(0, "unverified"), warm(0, "verifying", ours),
        warm(0, "verifying", bare), warm(1, "verifying"), warm(1, "verifying", ours))

    def firsts(results):
        return [result["first"] / 1000 for result in results]

    unverified = joined(later, "unverified")
    return [Row("warm start", "us", firsts(stock), firsts(limit), firsts(first),
                ratio(firsts(first), firsts(limit)), 1.5,
                "first context of a process, from a compiled store / its first unverified one, without Windlass",
                extra={"without a compiled store": firsts(without)}),
            Row("warm start, OpenSSL initialised", "us", firsts(stock_later), unverified, firsts(later),
                ratio(firsts(later), unverified), None,
                "the same in a process that has made an unverified context before / its later unverified ones")]


def directory(world):
    """20 threads, each with fresh contexts over a hashed directory of 2,103 files."""
    folder, leaves = world.folder / "directory", world.folder / "leaves.pem"
    made.write_directory(folder, leaves, 2103, 40, world.folder)
    made.let_age()
    argv = [world.built["directory.c"], folder, leaves]
    stock, ours = alternate(world.count(5), lambda: run_json([*argv, 20, 50]),
                            lambda: run_json([*argv, 20, 50], preload(world)))
    stock, ours = ([value / 1000 for samples in side for value in samples] for side in (stock, ours))
    contexts = 20 * 10
    calls = [system_calls([*argv, 20, 10], env, world.folder, folder) for env in (None, preload(world))]
    opened, looked = ([[side[kind] / contexts] for side in calls] for kind in ("open", "stat"))
    return [Row("C files opened", "a context", opened[0], [], opened[1], opened[1][0], 0.0,
                "files of a directory of 2,103 opened by a fresh context that verifies, after the first; 20 threads"),
            Row("C stat", "a context", looked[0], [], looked[1], looked[1][0], 2.0, "the same, stat calls"),
            Row("C directory", "us", stock, [], ours, ratio(ours, stock), None,
                "the same, time of a context with its verification: Windlass / stock")]


def compile_roots(world):
    """`windlass compile` at four sizes."""
    sizes = (1_000, 10_000, 30_000, 100_000)
    paths = [world.folder / f"compile-{size}.pem" for size in sizes]
    for path, size in zip(paths, sizes):
        made.write_bundle(path, size, world.folder)
    made.let_age()
    costs = [[cost([world.windlass, "compile", "--force", "--store", world.folder / f"compiled-{turn}", path])
              for turn in range(world.count(3))] for path in paths]
    per_root = [[ms * 1000 / size for ms, _ in side] for side, size in zip(costs, sizes)]
    small = world.folder / "compile-4000.pem"
    made.write_bundle(small, 4_000, world.folder)
    stock = [run_json([world.built["coldload.c"], small])["first"] / 1000 / 4_000 for _ in range(world.count(3))]
    extra = {f"{size}, {what}": [side[number] for side in taken] for size, taken in zip(sizes, costs)
             for number, what in enumerate(("ms", "KiB"))}
    return [Row("compile", "us a root", stock, per_root[1], per_root[3], ratio(per_root[3], per_root[1]), None,
                "windlass compile of 100,000 roots, libcrypto's check included / of 10,000 (stock: loading 4,000)",
                extra=extra)]


ROWS = {"context": context, "command": command, "request": request, "trace": trace, "memory": memory,
        "roots": many_roots, "cold-index": cold_index, "preload-tax": preload_tax, "threads": threads,
        "unknown-issuer": unknown_issuer, "warm-start": warm_start, "directory": directory, "compile": compile_roots}

"""Row D and the other rows of GnuTLS programs: instructions of whole processes, which repeat from run to run."""

import subprocess

import roots as made
from measure import Row, environment, instructions, median, ratio, run
from server import Server

DIRECTORY = "/etc/ssl/certs"
TIMES = 3  # a handshake's random numbers change the count a little


def preload(world, stores=""):
    return {"LD_PRELOAD": world.library, "WINDLASS_STORE": stores}


def every_file(world):
    """Row D's program over /etc/ssl/certs."""
    argv = [world.built["trust_files.c"], DIRECTORY]
    counts = {run(argv, env) for env in (None, preload(world))}
    if len(counts) != 1:
        raise SystemExit(f"{argv}: not the same number of certificates: {counts}")
    stock, ours = ([instructions(argv, env, world.folder)] for env in (None, preload(world)))
    # The same program with one file that holds no certificate.
    limit = [instructions([argv[0], empty(world)], None, world.folder, accept=(0, 1))]
    return [Row("D GnuTLS", "instr", stock, limit, ours, ours[0] / 1e6, 10.0,
                "millions of instructions of a program that calls gnutls_certificate_set_x509_trust_file for every "
                f"file of {DIRECTORY} (limit: for one without certificates)")]


def scale(world):
    """One file of 2,400 roots / of 150, from a compiled store."""
    few, many = (world.folder / f"gnutls-{count}.pem" for count in (150, 2400))
    for path, count in ((few, 150), (many, 2400)):
        made.write_bundle(path, count, world.folder)
    made.let_age()
    stores = world.folder / "gnutls-stores"
    run([world.windlass, "compile", "--store", stores, few, many])
    program = world.built["trust_files.c"]
    sides = [[[instructions([program, path], env, world.folder)] for path in (few, many)]
             for env in (None, preload(world, stores), preload(world))]
    (stock_few, stock_many), (ours_few, ours_many), (bare_few, bare_many) = sides
    return [Row("D scale", "instr", stock_many, ours_few, ours_many, ratio(ours_many, ours_few), 1.5,
                "instructions of the same program for a file of 2,400 roots / for one of 150, from compiled stores "
                "(stock: 2,400)",
                extra={"stock, 150 roots": stock_few, "stock's own ratio": [ratio(stock_many, stock_few)],
                       "no compiled store, 150": bare_few, "no compiled store, 2,400": bare_many})]


def wget(world):
    """A whole wget from a local nginx."""
    with Server(world.folder / "wget-server") as server:
        root = server.folder / "root.pem"
        stock = ["wget", "-q", "-O", "/dev/null", f"--ca-certificate={root}", server.url]
        limit = [*stock[:-1], f"--ca-directory={empty_directory(world)}", server.url]
        return whole(world, "wget", stock, limit,
                     "wget of one page: the system's trust and one more root / that root alone")


def git(world):
    """A whole `git ls-remote` of a repository on a local nginx, its helper process included."""
    with Server(world.folder / "git-server") as server:
        url = repository(server)
        root = server.folder / "root.pem"
        stock = ["git", "-c", f"http.sslCAInfo={root}", "ls-remote", url]
        limit = ["git", "-c", f"http.sslCAInfo={root}", "-c", f"http.sslCAPath={empty_directory(world)}",
                 "ls-remote", url]
        return whole(world, "git ls-remote", stock, limit,
                     "git ls-remote over https: the system's trust and one more root / that root alone")


def whole(world, name, argv, limit, how):
    """Instructions of all processes of a command: stock, without the system's trust, and with the library."""
    stores = world.folder / "system-stores"
    run([world.windlass, "compile", "--store", stores])

    def counted(words, env=None):
        return [instructions(words, {"HOME": world.folder, **(env or {})}, world.folder, children=True)
                for _ in range(TIMES)]

    stock, least, ours, bare = (counted(argv), counted(limit), counted(argv, preload(world, stores)),
                                counted(argv, preload(world)))
    return [Row(name, "instr", stock, least, ours, ratio(ours, least), None, f"instructions of {how}",
                extra={"no compiled store": bare, "saved of the loading": [
                    (median(stock) - median(ours)) / (median(stock) - median(least))]})]


def repository(server):
    """A bare repository below the server's root, served as files."""
    work, bare = server.folder / "work", server.folder / "repository.git"
    env = {**environment({"HOME": server.folder, "GIT_CONFIG_NOSYSTEM": "1"})}
    for command in (["init", "-q", "-b", "main", work], ["-C", work, "commit", "-q", "--allow-empty", "-m", "first"],
                    ["clone", "-q", "--bare", work, bare], ["-C", bare, "update-server-info"]):
        subprocess.run(["git", "-c", "user.name=Bench", "-c", "user.email=bench@localhost", *map(str, command)],
                       check=True, env=env)
    return f"{server.url}repository.git"


def empty_directory(world):
    folder = world.folder / "no-roots"
    folder.mkdir(exist_ok=True)
    return folder


def empty(world):
    path = world.folder / "no-roots.pem"
    path.write_text("")
    return path


ROWS = {"gnutls": every_file, "gnutls-scale": scale, "wget": wget, "git": git}

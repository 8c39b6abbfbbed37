"""Row E: HTTPS GETs of a libcurl program, in instructions a GET."""

from gnutls import preload
from measure import Row, instructions, ratio
from server import Server

FEW = 2  # The first GET of a process does more than a further one.
TIMES = 3


def gets(world):
    """Fresh easy handles / a reused one, with libcurl's own cache of the X509_STORE; local nginx, TLS 1.3."""
    with Server(world.folder / "curl-server") as server:
        def each(further, kind, env=None):
            """Instructions of one further GET, the mean of several."""
            argv = [world.built["fetch.c"], server.url, server.bundle, kind]
            few, many = (instructions([*argv, count], env, world.folder) for count in (FEW, FEW + further))
            return (many - few) / further

        sides = ((2, "fresh", None), (10, "reused", None), (10, "fresh", preload(world)))
        stock, limit, windlass = ([each(*side) for _ in range(world.count(TIMES))] for side in sides)
    return [Row("E curl", "instr", stock, limit, windlass, ratio(windlass, limit), 1.05,
                "instructions of a further HTTPS GET with a fresh libcurl easy handle / with a reused handle and "
                "libcurl's own store cache, each over a new connection")]


ROWS = {"curl": gets}

"""The cases: a name and a function that raises AssertionError."""

import functools

import clients
import files
import limits
import loads


def all_cases(world):
    before = files.listing(world)
    for client in clients.clients(world):
        yield f"{client.name}: trusts the added CA, and only with the flag", functools.partial(of_client, world, client)
    yield from limits.cases(world)
    yield from loads.cases(world)
    yield from files.cases(world)
    yield "nothing is left of all this", functools.partial(files.nothing_left, world, before)


def of_client(world, client):
    added = [world.pki.path("root.crt")]
    for host, add, expected in (("good", (), False), ("normal", (), not client.has_own_roots), ("good", added, True),
                                ("untrusted", added, False), ("normal", added, True)):
        status, output = world.run(client.command(host), client.env, add)
        accepted = status == 0 and client.accepted.format(host=host) in output
        assert accepted == expected, f"{host}, --add-ca {add}: status {status}\n{output}"

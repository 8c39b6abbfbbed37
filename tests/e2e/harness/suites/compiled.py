"""Programs that use the machine's default trust, of which there is a compiled store in /var/cache/windlass: as it was
compiled, and after the bundle has changed. Each runs in a mount namespace with a bundle and a /var/cache of its own."""

import os

from cases import plain
from pki import SYSTEM_BUNDLE
from suites import curl, openssl, php, python, ruby

FRESH, STALE = ("cache/compiled",), ("cache/compiled-stale",)


def cases(world):
    pki, hosts, programs = world.pki, world.hosts, world.programs
    # The root of the good host is gone, that of the untrusted one is there.
    changed = pki.path("changed.pem")
    changed.write_bytes(SYSTEM_BUNDLE.read_bytes() + pki.path("other.crt").read_bytes())
    clients = {
        "python": (lambda host: [python.PYTHON, programs / "client.py", "urllib", hosts.url(host)], python),
        "curl": (lambda host: [curl.CURL, "-sS", hosts.url(host)], curl),
        "ruby": (lambda host: [ruby.RUBY, programs / "client.rb", "get", hosts.url(host)], ruby),
        "php": (lambda host: [php.PHP, programs / "client.php", "get", hosts.url(host)], php),
        "openssl": (lambda host: [openssl.OPENSSL, "s_client", "-brief", "-verify_return_error", "-verify_hostname",
                                  "localhost", "-connect", f"localhost:{hosts.ports[host]}"], openssl),
    }
    for name, (command, usual) in clients.items():
        def case(what, host, verdict, counts, content="-", command=command, name=name):
            status, shows = verdict
            return plain(f"compiled: {name}: {what}", inside(world, content, command(host)), status=status, shows=shows,
                         counts=counts, random=("openssl-thread",))

        accepted = (0, tuple(pattern.replace("good", "untrusted") for pattern in usual.GOOD[1]))
        yield case("good host accepted", "good", usual.GOOD, FRESH)
        yield case("wrong host refused", "wrong", usual.WRONG, FRESH)
        yield case("untrusted root refused", "untrusted", usual.UNTRUSTED, FRESH)
        yield case("root removed after compiling", "good", usual.UNTRUSTED, STALE, changed)
        yield case("root added after compiling", "untrusted", accepted, STALE, changed)


def inside(world, changed, command):
    """As root of a user namespace, if need be."""
    namespace = ["/usr/bin/unshare", "--mount", "--propagation", "private",
                 *([] if os.geteuid() == 0 else ["--map-root-user"])]
    return [*namespace, "/bin/sh", world.programs / "with_compiled.sh", world.windlass, world.place.folder,
            world.pki.bundle, changed, *command]

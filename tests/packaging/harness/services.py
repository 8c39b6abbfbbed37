"""`windlass install --service` under a systemd that runs: what the service loads, what it opens, and what it says."""

import json

from cases import BUNDLE, STORES, library, unpacked
from machine import wait_for
from opened import Opened
from root import assert_same
from units import is_forgotten, is_idle, kept, under_systemd

FOLDER = "/srv/packages/tls"
# Verifies what it is given, says how that went, and serves TLS from then on.
PROGRAM = f"""#!/bin/sh
cd {FOLDER}
for certificate in good.pem unknown.pem root.pem; do
    openssl verify -show_chain "$certificate" 2>&1
    echo "status $?"
done
exec openssl s_server -accept "127.0.0.1:$1" -cert good.pem -key good.key -quiet
"""
HARDENED = """ProtectSystem=strict
PrivateTmp=yes
DynamicUser=yes
SystemCallFilter=@system-service
SystemCallArchitectures=native
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
PrivateDevices=yes
PrivateUsers=yes
ProtectHome=yes
ProtectProc=invisible
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictNamespaces=yes
RestrictSUIDSGID=yes
LockPersonality=yes
NoNewPrivileges=yes
CapabilityBoundingSet=
"""
# Name: what its unit says, and whether the compiled store can serve it.
SERVICES = {
    "plain": ("", True),
    "hard": (HARDENED, True),
    "blind": (HARDENED + f"InaccessiblePaths=-{STORES}\n", False),
}


@under_systemd
def activated(machine, package):
    """systemd: a service loads the library after its restart, hardened or not, says the same, opens no bundle; and is
    as before after uninstall"""
    package.install(machine)
    taken_through(machine, ["windlass"], library(machine))
    machine.run("dpkg", "--purge", "windlass")
    is_forgotten(machine)


@under_systemd
def activated_from_a_build(machine, package):
    """systemd: the same with a library that `windlass install` had to copy"""
    unpacked(machine, package)
    taken_through(machine, ["/srv/packages/windlass"], "/usr/local/lib/windlass/libwindlass_preload.so")
    is_forgotten(machine)


@under_systemd
def environment_taken_away(machine, package):
    """systemd: a service whose unit takes LD_PRELOAD away is refused, and rightly: that comes after every drop-in; one
    value of it is another matter"""
    package.install(machine)
    for name, word in (("all", "LD_PRELOAD"), ("one", "LD_PRELOAD=/nowhere.so")):
        (machine / f"/etc/systemd/system/{name}.service").write_text(
            f"[Service]\nExecStart=/bin/sleep infinity\nUnsetEnvironment={word}\n")
    machine.systemctl("daemon-reload")
    refused = machine.run("windlass", "install", "--service", "all", "--yes", code=1).stderr
    assert "UnsetEnvironment=LD_PRELOAD, which systemd applies last" in refused, refused
    machine.run("windlass", "install", "--service", "one", "--yes")
    by_hand = machine / "/etc/systemd/system/all.service.d"
    by_hand.mkdir()
    (by_hand / "zz.conf").write_text(f'[Service]\nEnvironment="LD_PRELOAD={library(machine)}"\n')
    machine.systemctl("daemon-reload")
    for name, wanted in (("all", []), ("one", [library(machine)])):
        machine.systemctl("restart", name)
        wait_for(lambda: machine.run("readlink", f"/proc/{machine.main_process(name)}/exe",
                                     code=None).stdout.endswith("/sleep\n"),
                 lambda: machine.journal(name))
        assert loads(machine, name) == wanted, f"{name} has {loads(machine, name)}"
        machine.systemctl("stop", name)
    machine.run("dpkg", "--purge", "windlass")
    is_forgotten(machine)


def taken_through(machine, windlass, library_path):
    certificates(machine)
    for port, (name, (settings, _)) in enumerate(SERVICES.items(), 4433):
        (machine / f"/etc/systemd/system/{name}.service").write_text(
            f"[Service]\nExecStart={FOLDER}/program {port}\nStandardOutput=truncate:{FOLDER}/{name}.out\n{settings}")
    machine.systemctl("daemon-reload")
    before = kept(machine)
    # What the service has when the library is not there; it is made by whatever command is to be tested.
    machine.run(*windlass, "install", "--yes")
    is_idle(machine)
    stock = {name: outcome(machine, name) for name in SERVICES}
    for name, (said, loaded, opened) in stock.items():
        assert not loaded and opened == {"bundle"}, f"{name} without the library: {loaded} {opened}"
        assert said.count("status 0") == 2 and said.count("status 2") == 1, said
    services = [word for name in SERVICES for word in ("--service", name)]
    shown = machine.run(*windlass, "install", *services, "--yes").stdout
    for name, (_, can_be_served) in SERVICES.items():
        assert f"systemctl restart {name}.service" in shown, shown
        assert not loads(machine, name), "it goes on as it is until it is restarted"
        said, loaded, opened = outcome(machine, name)
        assert loaded == [library_path], f"{name} has {loaded}"
        assert said == stock[name][0], f"{name} says {said}, not {stock[name][0]}"
        assert "windlass" not in machine.journal(f"{name}.service")
        assert "ld.so" not in machine.journal(f"{name}.service")
        assert opened == {"store" if can_be_served else "bundle"}, f"{name} opened {opened}"
    machine.run(*windlass, "uninstall", "--yes")
    for name in SERVICES:
        assert "LD_PRELOAD" not in machine.show(name, "Environment")
        said, loaded, opened = outcome(machine, name)
        assert (said, loaded, opened) == stock[name], f"{name}: {loaded} {opened}"
        machine.systemctl("stop", name)
    assert_same(before, kept(machine))


def outcome(machine, name):
    """Restarts a service: what it says, which libraries of ours it has then, and whether bundle and compiled store were
    opened."""
    with watched(machine) as opened:
        machine.systemctl("restart", name)
        answers(machine, name)
        seen = opened.seen()
    return (machine / f"{FOLDER}/{name}.out").read_text(), loads(machine, name), seen


def answers(machine, name):
    """Waits until it serves TLS, which it does after everything else; a client of ours must accept it."""
    port = 4433 + list(SERVICES).index(name)
    client = ("openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-verify_return_error", "-brief",
              "-CAfile", f"{FOLDER}/root.pem", "-no-CApath", "-no-CAstore")
    wait_for(lambda: machine.systemctl("is-active", name, code=None) != "active"
             or machine.run(*client, code=None).returncode == 0,
             lambda: machine.run(*client, code=None).stderr + machine.journal(name))
    assert machine.systemctl("is-active", name, code=None) == "active", machine.journal(name)


def loads(machine, name):
    """The libraries of ours that the service's process has mapped."""
    maps = machine.run("cat", f"/proc/{machine.main_process(name)}/maps").stdout
    return sorted({line.split()[-1] for line in maps.splitlines() if "windlass" in line})


def watched(machine):
    """Looks whether the bundle and compiled stores are opened."""
    stores = list((machine / STORES).glob("*.store"))
    return Opened(bundle=[machine / BUNDLE], store=stores)


def certificates(machine):
    """A root that the machine trusts, a server's certificate from it, and one from a root that nobody knows."""
    (machine / FOLDER).mkdir(parents=True)
    (machine / FOLDER / "program").write_text(PROGRAM)
    new = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30"
    machine.run("sh", "-euc", f"""
        cd {FOLDER}
        chmod 755 . program
        for ca in root other; do
            {new} -subj "/CN=$ca" -addext basicConstraints=critical,CA:TRUE -keyout $ca.key -out $ca.pem
        done
        leaf() {{ {new} -subj /CN=server -addext basicConstraints=CA:FALSE "$@"; }}
        leaf -CA root.pem -CAkey root.key -keyout good.key -out good.pem
        leaf -CA other.pem -CAkey other.key -keyout unknown.key -out unknown.pem
        chmod 644 *.key
        cp root.pem /usr/local/share/ca-certificates/services-test.crt
        update-ca-certificates
    """)


ALL = [activated, activated_from_a_build, environment_taken_away]

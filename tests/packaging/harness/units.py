"""The package's units under a systemd that runs."""

import functools
import json
import shutil

from cases import BUNDLE, add_root, anchors, unpacked, update
from machine import booted, wait_for
from root import assert_same

WATCH = "windlass-compile.path"
COMPILE = "windlass-compile.service"
CERTIFICATE = "/usr/local/share/ca-certificates/packaging-test.crt"


def under_systemd(case):
    """Runs a case in a system that systemd has booted."""
    @functools.wraps(case)
    def run(root, package):
        with booted(root) as machine:
            case(machine, package)
    run.variant = "bootable"
    return run


def verified(root, package):
    """systemd-analyze finds no fault in the units; this needs no systemd that runs"""
    package.install(root)
    for unit in (WATCH, COMPILE):
        said = root.run("systemd-analyze", "verify", "--man=no", f"/usr/lib/systemd/system/{unit}")
        assert said.stdout + said.stderr == "", said.stdout + said.stderr


verified.variant = "bootable"


@under_systemd
def watches(machine, package):
    """systemd: the package's path unit runs at once, and each edit that bypasses update-ca-certificates is compiled"""
    package.install(machine)
    assert machine.systemctl("is-enabled", WATCH) == "enabled"
    assert machine.systemctl("is-active", WATCH) == "active"
    machine.quiet("windlass", "compile", "--check")
    edits_are_seen(machine)
    # What comes with update-ca-certificates is seen by hook and path unit at the same time.
    said = update(machine)
    assert "1 added" in said, said
    is_idle(machine)
    machine.quiet("windlass", "compile", "--check")


@under_systemd
def at_boot(machine, package):
    """systemd: the path unit is started with the system, and nothing fails"""
    package.install(machine)
    machine.systemctl("stop", WATCH)
    machine.systemctl("isolate", "rescue.target")
    machine.systemctl("isolate", "multi-user.target")
    assert machine.systemctl("is-active", WATCH) == "active"
    assert machine.systemctl("--failed", "--plain", "--no-legend") == ""


@under_systemd
def upgraded(machine, package):
    """systemd: an upgrade puts a changed path unit into effect, and keeps one that was disabled so"""
    before = kept(machine)
    package.install(machine)
    elsewhere = "/srv/packages/watched"
    machine.run("touch", elsewhere)

    def change(unpacked_package):
        unit = unpacked_package / "usr/lib/systemd/system" / WATCH
        unit.write_text(unit.read_text().replace("[Path]\n", f"[Path]\nPathChanged={elsewhere}\n"))
        control = unpacked_package / "DEBIAN/control"
        control.write_text(control.read_text().replace("\nVersion: ", "\nVersion: 9:"))
    newer = package.changed(change)
    newer.install(machine)
    assert machine.systemctl("is-active", WATCH) == "active"
    assert elsewhere in machine.show(WATCH, "Paths"), machine.show(WATCH, "Paths")
    is_idle(machine)
    started = machine.show(COMPILE, "InvocationID")
    machine.run("sh", "-c", f"echo >>{elsewhere}")
    wait_for(lambda: machine.show(COMPILE, "InvocationID") != started, "the new unit's own path is watched")
    machine.systemctl("disable", "--now", WATCH)
    newer.install(machine)
    assert machine.systemctl("is-active", WATCH, code=None) == "inactive"
    assert machine.systemctl("is-enabled", WATCH, code=None) == "disabled"
    newer.path.unlink()
    machine.run("dpkg", "--purge", "windlass")
    is_forgotten(machine)
    assert_same(before, kept(machine))


@under_systemd
def removed(machine, package):
    """systemd: removal ends the service also where it runs or has failed, and the purge leaves no trace of a unit"""
    before = kept(machine)
    for state in SABOTAGE:
        package.install(machine)
        brought_into(machine, state)
        machine.run("dpkg", "--remove", "windlass")
        known = machine.systemctl("list-units", "--plain", "--no-legend", "windlass*")
        assert known == "", known
        machine.run("dpkg", "--purge", "windlass")
        is_forgotten(machine)
    assert_same(before, kept(machine))


@under_systemd
def uninstalled(machine, package):
    """systemd: `windlass uninstall` ends the service also where it runs or has failed"""
    unpacked(machine, package)
    before = kept(machine)
    for state in SABOTAGE:
        machine.run("/srv/packages/windlass", "install", "--yes")
        brought_into(machine, state)
        machine.run("/srv/packages/windlass", "uninstall", "--yes")
        is_forgotten(machine)
    assert_same(before, kept(machine))


# What makes the service stay in a state.
SABOTAGE = {"activating": "ExecStartPre=/bin/sleep infinity", "failed": "ExecStartPre=/bin/false"}


def brought_into(machine, state):
    """Starts the service, and waits until it is in that state."""
    is_idle(machine)
    drop_in = machine / f"/etc/systemd/system/{COMPILE}.d/sabotage.conf"
    drop_in.parent.mkdir()
    drop_in.write_text(f"[Service]\n{SABOTAGE[state]}\n")
    machine.systemctl("daemon-reload")
    machine.systemctl("start", "--no-block", COMPILE)
    wait_for(lambda: machine.show(COMPILE, "ActiveState") == state, lambda: machine.journal(COMPILE))
    shutil.rmtree(drop_in.parent)


@under_systemd
def without_package(machine, package):
    """systemd: `windlass install` from a build tree starts its own units, and `windlass uninstall` leaves none"""
    unpacked(machine, package)
    before = kept(machine)
    said = machine.run("/srv/packages/windlass", "install", "--yes").stdout
    assert f"{WATCH}\n     start" in said, said
    assert machine.systemctl("is-active", WATCH) == "active"
    assert machine.show(WATCH, "FragmentPath") == f"/etc/systemd/system/{WATCH}"
    assert "Nothing to do" in machine.quiet("/srv/packages/windlass", "install", "--yes")
    edits_are_seen(machine)
    machine.run("/srv/packages/windlass", "uninstall", "--yes")
    is_forgotten(machine)
    shutil.rmtree(machine / "/usr/local/share/ca-certificates")
    (machine / "/usr/local/share/ca-certificates").mkdir()
    update(machine, "--fresh")
    assert_same(before, kept(machine))


def edits_are_seen(machine):
    """Ways to change the trust store that no hook sees, one after the other; each must be compiled into what is there
    then."""
    count = anchors(machine)
    add_root(machine)
    for edit, now in ((f"cp {BUNDLE} /etc/ssl/before; cat {CERTIFICATE} >>{BUNDLE}", count + 1),
                      (f"cp /etc/ssl/before {BUNDLE}", count),
                      (f"cat {CERTIFICATE} >>/etc/ssl/before; mv /etc/ssl/before {BUNDLE}", count + 1),
                      (f"ln -s {CERTIFICATE} /etc/ssl/certs/$(openssl x509 -noout -hash -in {CERTIFICATE}).0", count
                       + 1)):
        # A change while the service runs would be seen with the next one only (docs/install.md).
        is_idle(machine)
        machine.run("sh", "-euc", edit)
        is_compiled(machine, now)


def is_compiled(machine, count):
    """Waits until the compiled stores are fresh; those of the bundle, by each of its names, must have so many
    anchors."""
    check = ("windlass", "compile", "--check")
    wait_for(lambda: machine.run(*check, code=None).returncode == 0,
             lambda: machine.run(*check, code=None).stdout + machine.journal(COMPILE))
    status = json.loads(machine.quiet("windlass", "cache", "status", "--json"))
    found = [store["anchors"] for store in status["directories"][0]["stores"] if store["kind"] == "cafile"]
    assert set(found) == {count}, f"{found}, not {count}"


def is_idle(machine):
    """Waits until the service is not running, so that a change from now on is one that it has not seen; it must have
    ended well."""
    wait_for(lambda: machine.show(COMPILE, "ActiveState") in ("inactive", "failed"), lambda: machine.journal(COMPILE))
    assert machine.show(COMPILE, "Result") == "success", machine.journal(COMPILE)


def is_forgotten(machine):
    """systemd knows nothing of ours any more: nothing runs, nothing is loaded, nothing can be started."""
    for known in (machine.systemctl("list-units", "--all", "--plain", "--no-legend", "windlass*"),
                  machine.systemctl("list-unit-files", "--no-legend", "windlass*", code=None)):
        assert known == "", known + "\n" + machine.journal(COMPILE)


def kept(machine):
    """The tree without what a system that runs writes for itself."""
    own = ("var/lib/systemd/catalog", "var/lib/systemd/random-seed", "var/lib/systemd/timers",
           "var/tmp/systemd-private-")
    return {path: kind for path, kind in machine.tree().items() if not path.startswith(own)}


ALL = [verified, watches, at_boot, upgraded, removed, uninstalled, without_package]

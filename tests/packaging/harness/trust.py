"""Who installs, and who else could change what is installed."""

import hashlib
import json
import os
import shutil
import subprocess

from cases import HOOK, LIST, library, unpacked
from root import assert_same


def others_can_change(root, package):
    """what others than root can change is never named: it is copied, to a directory that only root can change"""
    unpacked(root, package)
    copied = "/usr/local/lib/windlass/libwindlass_preload.so"
    for place, own in (("/opt/a", "/opt/a"), ("/usr/a", "/usr/a/bin/windlass"),
                       ("/usr/b", "/usr/b/lib/windlass/libwindlass_preload.so")):
        for name, path in (("windlass", "bin/windlass"),
                           ("libwindlass_preload.so", "lib/windlass/libwindlass_preload.so")):
            (root / place / path).parent.mkdir(parents=True)
            shutil.copy(root / "/srv/packages" / name, root / place / path)
        before = root.tree()
        os.chown(root / own, 1000, 1000)
        root.run(f"{place}/bin/windlass", "install", "--machine", "--yes")
        named = (root / LIST).read_text().strip()
        in_hook = (root / HOOK).read_text()
        assert (named != copied) == own.endswith("/windlass"), f"{own}: {named}"
        assert (f"{place}/bin/windlass compile" in in_hook) == own.endswith(".so"), f"{own}: {in_hook}"
        root.run(f"{place}/bin/windlass", "uninstall", "--yes")
        os.chown(root / own, 0, 0)
        assert_same(before, root.tree())
        # Through a link that others can change.
        (root / "/opt/link").mkdir()
        (root / "/opt/link/to").symlink_to(place)
        os.chown(root / "/opt/link", 1000, 1000)
        library = "/opt/link/to/lib/windlass/libwindlass_preload.so"
        root.run("env", f"WINDLASS_PRELOAD_LIBRARY={library}", f"{place}/bin/windlass", "install", "--machine", "--yes")
        assert (root / LIST).read_text().strip() == f"{place}/lib/windlass/libwindlass_preload.so"
        root.run(f"{place}/bin/windlass", "uninstall", "--yes")
        shutil.rmtree(root / "/opt/link")
    before = root.tree()
    (root / "/usr/local/lib").chmod(0o777)
    result = root.run("/srv/packages/windlass", "install", "--machine", "--yes", code=1)
    assert "others than root can change /usr/local/lib" in result.stderr, result.stderr
    (root / "/usr/local/lib").chmod(0o755)
    assert_same(before, root.tree())


def another_home(root, package):
    """removing the package carries out nothing that a user's HOME says, and root's uninstall neither"""
    package.install(root)
    home = root / "/home/a"
    (home / ".local/state/windlass").mkdir(parents=True)
    (home / ".config").mkdir()
    victim = root / "/etc/victim"
    victim.write_text("precious")
    change = {"target": "upkeep", "path": "/etc/victim", "kind": "file", "lines": [],
              "sha256": [hashlib.sha256(b"precious").hexdigest()]}
    record = {"schema": 1, "unfinished": False, "made_directories": 0, "changes": [change]}
    (home / ".local/state/windlass/install.json").write_text(json.dumps(record))
    subprocess.run(["chown", "-R", "1000:1000", home], check=True)
    root.run("windlass", "uninstall", "--yes", environment=["HOME=/home/a"])
    root.run("dpkg", "--remove", "windlass", environment=["HOME=/home/a"])
    assert victim.read_text() == "precious"


def not_root(root, package):
    """somebody else than root is told so, and may see the plan"""
    package.install(root)
    as_nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    root.quiet(*as_nobody, "windlass", "install", "--machine", "--dry-run")
    result = root.run(*as_nobody, "windlass", "install", "--machine", code=1)
    assert "you are not root" in result.stderr and "--shell" in result.stderr, result.stderr


def users_shell(root, package):
    """a user's shell: no root needed, kept what was there, undone exactly"""
    package.install(root)
    # A home below /var is a user's as well.
    for path in ("/home/a", "/var/lib/a"):
        shell_of(root, path)


def shell_of(root, path):
    home = root / path
    home.mkdir()
    (home / ".profile").write_text("LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libm.so.6\nexport LD_PRELOAD")
    for own in (home, home / ".profile"):
        os.chown(own, 1000, 1000)
    before = root.tree()
    as_user = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "env", f"HOME={path}", "SHELL=/bin/bash")
    root.quiet(*as_user, "windlass", "install", "--shell", "--dry-run")
    assert_same(before, root.tree())
    root.run(*as_user, "windlass", "install", "--shell", "--yes")
    said = root.quiet(*as_user, "bash", "-lc", "echo $LD_PRELOAD")
    assert said.strip() == library(root) + ":/usr/lib/x86_64-linux-gnu/libm.so.6", said
    library_there = root / library(root)
    os.rename(library_there, root / "/srv/packages/away")
    said = root.run(*as_user, "bash", "-lc", "echo $LD_PRELOAD").stdout
    assert said.strip() == "/usr/lib/x86_64-linux-gnu/libm.so.6", "a library that is gone is not named"
    os.rename(root / "/srv/packages/away", library_there)
    root.run(*as_user, "windlass", "uninstall", "--yes")
    assert_same(before, root.tree())


ALL = [others_can_change, another_home, not_root, users_shell]

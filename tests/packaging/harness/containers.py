"""The recipe of docs/containers.md: its commands are taken from there, and run."""

import os
import re
import shlex
import shutil
import subprocess

from cases import PROGRAMS, assert_quiet, update
from root import assert_same

LIST = "/etc/ld.so.preload"


def blocks(package, kind):
    text = (package.source / "docs/containers.md").read_text()
    found = re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)
    assert found, f"docs/containers.md has no block of kind {kind}"
    return found


def dockerfile(root, package):
    """docs/containers.md: the Dockerfile's instructions work in a minimal system"""
    for block in blocks(package, "dockerfile"):
        assert block.count("RUN ") and block.startswith("FROM "), block
        for line in block.replace("\\\n", " ").splitlines():
            word, _, rest = line.partition(" ")
            if word == "COPY":
                source, target = rest.split()
                assert re.fullmatch(source.replace(".", r"\.").replace("*", ".*"), package.path.name), source
                shutil.copy(package.path, root / target)
            elif word == "RUN":
                # apt would ask a server for nothing here: what the package needs is installed.
                root.run("sh", "-euc", rest)
            else:
                assert word in ("FROM", "#", "CMD", ""), f"{line}: what does the test do with this?"
    assert_active(root)
    assert not [name for name in os.listdir(root / "/tmp") if name.endswith(".deb")], "the package is left in the image"


def from_outside(root, package):
    """docs/containers.md: the commands with --root make an image, and take everything back"""
    before = root.tree()
    commands = blocks(package, "sh")
    assert len(commands) == 2, "one block that installs, one that takes it back"
    run(commands[0], root, package)
    assert_active(root)
    hook = root / "/etc/ca-certificates/update.d/windlass"
    assert "/usr/local/bin/windlass compile" in update(root) + hook.read_text()
    run(commands[1], root, package)
    assert_quiet(root)
    assert_same(before, root.tree())


def run(block, root, package):
    """Runs a block of the document as its reader would, with the built command in PATH."""
    environment = {"PATH": f"{package.windlass.parent}:/usr/sbin:/usr/bin:/sbin:/bin", "IMAGE": str(root.path),
                   "HOME": "/root", "WINDLASS_PRELOAD_LIBRARY": str(package.library)}
    assert "$IMAGE" in block
    done = subprocess.run(["sh", "-euc", block], env=environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{shlex.quote(block)} ended with {done.returncode}: {done.stdout}{done.stderr}"


def assert_active(root):
    """Every program loads the library, says nothing about it, and the compiled store is fresh."""
    assert "libwindlass_preload.so" in (root / LIST).read_text()
    assert "libwindlass_preload.so" in root.run("cat", "/proc/self/maps").stdout
    for program in PROGRAMS:
        root.quiet(*program)
    root.quiet("windlass", "compile", "--check")


ALL = [dockerfile, from_outside]

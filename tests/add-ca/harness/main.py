"""Runs the cases. See run.sh."""

import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import traceback
import typing

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE / "harness"), str(ROOT / "tests/e2e/harness")]

import cases
import clients
import machine
from servers_here import Hosts
from sides import execute


@dataclasses.dataclass
class World:
    """What the cases have to work with."""

    windlass: str
    target: pathlib.Path
    pki: typing.Any
    hosts: typing.Any
    folder: pathlib.Path
    programs: pathlib.Path
    other_programs: pathlib.Path
    built: dict

    def run(self, argv, env=None, add=(), options=()):
        """Status and all output of a program, below `run --add-ca` if `add` has files."""
        command = list(map(str, argv))
        if add or options:
            named = [word for file in add for word in ("--add-ca", str(file))]
            command = [self.windlass, "run", *named, *options, "--", *command]
        status, stdout, stderr = execute(command, self.environment(env), "", None)
        return status, stdout + stderr

    def environment(self, env=None):
        return {"HOME": self.folder / "home", "TMPDIR": self.folder / "tmp", **(env or {})}


def main(wanted):
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
    windlass = os.environ.get("WINDLASS") or target / "release" / "windlass"
    with tempfile.TemporaryDirectory(prefix="windlass-add-ca-test-") as folder:
        folder = pathlib.Path(folder)
        # Programs that change their user have to find what is in there.
        folder.chmod(0o755)
        for name, mode in (("home", 0o755), ("tmp", 0o1777)):
            (folder / name).mkdir()
            (folder / name).chmod(mode)
        pki = machine.Certificates(folder / "pki")
        machine.trust(pki, folder)
        other = ROOT / "tests/e2e/programs"
        world = World(str(windlass), target, pki, None, folder, HERE / "programs", other,
                      clients.compiled(HERE / "programs", other, target / "add-ca"))
        world.hosts = Hosts(pki, folder / "hosts")
        try:
            return run(world, wanted)
        finally:
            world.hosts.stop()


def run(world, wanted):
    passed = failed = 0
    for name, case in cases.all_cases(world):
        if wanted and not any(word in name for word in wanted):
            continue
        try:
            case()
            passed += 1
            print(f"ok      {name}", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError):
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
    print(f"add-ca: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
sys.exit(main(sys.argv[1:]))

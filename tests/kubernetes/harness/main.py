"""Runs the cases against a real API server. See run.sh."""

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
sys.path[:0] = [str(HERE / "harness"), str(HERE), str(ROOT / "tests/e2e/harness"), str(ROOT / "tests/top/harness")]

import pods
import suites
from cluster import Cluster
from node import Node
from pki import Pki
from servers import Hosts


@dataclasses.dataclass
class World:
    """What the cases have to work with."""

    root: pathlib.Path
    binaries: pathlib.Path
    folder: pathlib.Path
    release: pathlib.Path
    pki: typing.Any
    hosts: typing.Any
    cluster: typing.Any
    node: typing.Any
    images: dict
    programs: pathlib.Path


def main(wanted):
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
    with tempfile.TemporaryDirectory(prefix="windlass-kubernetes-") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        pki = Pki(folder / "pki")
        built = pods.compiled(HERE / "programs", target / "kubernetes/programs")
        images = pods.images(ROOT, target, folder / "images", built, pki)
        stopping = []
        try:
            hosts = Hosts(pki, folder / "hosts")
            stopping.append(hosts)
            cluster = Cluster(target / "kubernetes", folder / "cluster")
            stopping.append(cluster)
            node = Node(cluster, target / "kubernetes", folder / "node", images)
            stopping.append(node)
            world = World(ROOT, target / "kubernetes", folder, target / "release", pki, hosts, cluster, node, images,
                          HERE / "programs")
            return run(world, wanted)
        finally:
            for one in reversed(stopping):
                one.stop()


def run(world, wanted):
    passed = failed = 0
    for name, case in suites.CASES:
        if wanted and not any(word in name for word in wanted):
            continue
        try:
            note = case(world)
            passed += 1
            print(f"ok      {name}{f' ({note})' if note else ''}", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError, KeyError):
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
    print(f"kubernetes: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
sys.exit(main(sys.argv[1:]))

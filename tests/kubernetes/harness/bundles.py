"""What the cluster trusts: bundles with this machine's roots and those of the tests."""

import json
import subprocess
import sys

from pki import SYSTEM_BUNDLE


def made(world, *roots, signer=None, files=(SYSTEM_BUNDLE,)):
    """ClusterTrustBundles, as the documented command makes them; `roots` are names of the tests' own."""
    paths = [*files, *(world.pki.path(f"{name}.crt") for name in roots)]
    options = ["--signer", signer] if signer else []
    done = subprocess.run([sys.executable, "-B", world.root / "deploy/kubernetes/bundle.py", *options, *paths],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["items"]


def trust(world, *roots, **more):
    """Makes it the cluster's trust."""
    world.cluster.apply(*made(world, *roots, **more))


def forget(world):
    world.cluster.kubectl("delete", "clustertrustbundles", "--all", "--wait=false")

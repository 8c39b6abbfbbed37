"""trust-manager as the source: its bundle is a ConfigMap in each namespace, and the overlay makes pods read that."""

import contextlib
import subprocess
import time

import bundles
import pods
from sides import die_with_parent
from suites.freshness import Program, written
from suites.overlays import applied, volumes

CASES = []


def case(function):
    CASES.append(("trust-manager: " + function.__name__.replace("_", " "), function))
    return function


def bundle(world, *roots):
    text = "".join(world.pki.path(f"{name}.crt").read_text() for name in roots)
    return {"apiVersion": "trust.cert-manager.io/v1alpha1", "kind": "Bundle", "metadata": {"name": "windlass-roots"},
            "spec": {"sources": [{"inLine": text}],
                     "target": {"configMap": {"key": "ca-certificates.crt",
                                              "metadata": {"labels": {"windlass": "trust"}}},
                                "namespaceSelector": {"matchLabels": {"windlass": "enabled"}}}}}


@contextlib.contextmanager
def running(world):
    """Its definitions, from its own module, and its controller."""
    definition = world.binaries / "trust-manager-bundles.yaml"
    world.cluster.kubectl("apply", "--server-side", "-f", definition)
    pods.namespace(world.cluster, "cert-manager")
    world.cluster.eventually("Bundles are served", lambda: world.cluster.try_kubectl("get", "bundles").returncode == 0)
    with (world.folder / "trust-manager.log").open("wb") as log:
        process = subprocess.Popen([world.binaries / "trustmanager", world.cluster.kubeconfig], stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=60)


@case
def a_root_leaves_and_comes(world):
    with running(world), applied(world, "trust-manager", "clusterTrustBundle"):
        world.cluster.apply(bundle(world, "root"))
        world.cluster.kubectl("delete", "clustertrustbundles", "--all")
        world.cluster.eventually("a pod gets the ConfigMap", lambda: "configMap" in str(volumes(world)))
        program = Program(world, ["python3", world.programs / "client.py"])
        good, other = world.hosts.url("good"), world.hosts.url("untrusted")
        clock = []
        try:
            assert (program.ask(good), program.ask(other)) == ("accepted", "refused")
            for roots, wanted in ((("other",), ("refused", "accepted")), (("root",), ("accepted", "refused"))):
                begun = time.monotonic()
                world.cluster.apply(bundle(world, *roots))
                written(world, program.pod, roots)
                clock.append(time.monotonic() - begun)
                answers = program.ask(good), program.ask(other)
                assert answers == wanted, f"{roots}: {answers}"
        finally:
            program.end()
            world.cluster.kubectl("delete", "bundles", "--all")
            bundles.trust(world, "root")
    return "Bundle to volume in " + " and ".join(f"{seconds:.1f} s" for seconds in clock)

"""The overlays, each applied in place of the base; and that Helm's chart is the same."""

import contextlib
import shutil
import subprocess

import pods
import yaml
from cluster import Cluster
from suites.admission import RESTRICTED, make_restricted

CASES = []


def case(function):
    CASES.append(("overlays: " + function.__name__.replace("_", " "), function))
    return function


LOOK = ["python3", "-c", "print([line.split()[-1] for line in open('/proc/self/maps') if 'windlass' in line][0])"]
SERVED = (0, "/opt/windlass/library/libwindlass_preload.so\n", "")


@contextlib.contextmanager
def applied(world, overlay, shows):
    """`shows` is what the volumes of a pod then hold."""
    deploy = world.root / "deploy/kubernetes"
    try:
        world.cluster.kubectl("apply", "-k", deploy / "overlays" / overlay)
        world.cluster.eventually(overlay, lambda: shows in str(volumes(world)))
        yield
    finally:
        world.cluster.kubectl("delete", "-k", deploy / "overlays" / overlay, "--wait=false")
        world.cluster.kubectl("apply", "-k", deploy / "base")
        world.cluster.eventually("the base", lambda: "'image'" in str(volumes(world)) and "Bundle" in str(
            volumes(world)))


def volumes(world):
    return pods.create(world.cluster, pods.pod("served"))[0]["spec"].get("volumes", [])


@case
def host_path(world):
    """The DaemonSet's program installs the library, and pods get it from there."""
    with applied(world, "hostpath", "hostPath"):
        template = world.cluster.get("daemonset", "-n", "windlass", "windlass-installer")["spec"]["template"]
        installer = {"apiVersion": "v1", "kind": "Pod",
                     "metadata": {"name": "installer", "namespace": "windlass"},
                     "spec": {**template["spec"], "nodeName": "node"}}
        mutated, _ = pods.create(world.cluster, installer)
        process = world.node.start(mutated)
        place = world.node.host_path("/opt/windlass")
        world.cluster.eventually("the library is installed",
                                 lambda: (place / "library/java/windlass.security").exists())
        process.kill()
        mutated, said = pods.create(world.cluster, pods.pod("served", command=LOOK))
        assert world.node.run(mutated) == SERVED and not said, said
        # Pod security "baseline" would refuse the pod with the volume.
        pods.namespace(world.cluster, "baseline", windlass="enabled", **{
            "pod-security.kubernetes.io/enforce": "baseline"})
        mutated, said = pods.create(world.cluster, pods.pod("baseline", command=["true"]))
        assert "hostPath" not in str(mutated["spec"]["volumes"]), mutated["spec"]
        assert "runs without the library" in said, said
        assert world.node.run(mutated) == (0, "", "")


@case
def init_container(world):
    with applied(world, "init-container", "emptyDir"):
        make_restricted(world)
        for namespace, more in (("served", {}), ("restricted", RESTRICTED)):
            described = pods.pod(namespace, command=LOOK, **more)
            mutated, said = pods.create(world.cluster, described)
            assert [one["name"] for one in mutated["spec"]["initContainers"]] == ["windlass-library"], mutated["spec"]
            assert world.node.run(mutated) == SERVED and not said, said


@case
def an_api_server_that_knows_no_bundles(world):
    """The policy that wants them is passed over, and the one for ConfigMaps works."""
    cluster = Cluster(world.binaries, world.folder / "default", options=())
    try:
        cluster.kubectl("apply", "-k", world.root / "deploy/kubernetes/overlays/trust-manager")
        pods.namespace(cluster, "served", windlass="enabled")
        cluster.apply({"apiVersion": "v1", "kind": "ConfigMap",
                       "metadata": {"name": "roots", "namespace": "served", "labels": {"windlass": "trust"}},
                       "data": {"ca-certificates.crt": world.pki.path("root.crt").read_text()}})

        def trust():
            mutated, said = pods.create(cluster, pods.pod("served"))
            return {one["name"]: one for one in mutated["spec"].get("volumes", [])}.get("windlass-trust"), said
        cluster.eventually("a pod gets the ConfigMap", lambda: trust()[0])
        volume, said = trust()
        assert volume["projected"]["sources"][0]["configMap"]["name"] == "roots" and not said, (volume, said)
    finally:
        cluster.stop()


@case
def the_component_for_older_api_servers(world):
    """The older version of the API, which this server has as well, takes the same policies."""
    folder = world.folder / "older"
    folder.mkdir()
    deploy = world.root / "deploy/kubernetes"
    shutil.copytree(deploy, folder / "kubernetes")
    (folder / "kustomization.yaml").write_text(
        "resources: [kubernetes/overlays/init-container]\ncomponents: [kubernetes/components/v1beta1]\n")
    built = world.cluster.kubectl("kustomize", folder)
    assert built.count("admissionregistration.k8s.io/v1beta1") == 6, built
    done = world.cluster.try_kubectl("apply", "--dry-run=server", "-f", "-", input=built)
    assert done.returncode == 0 and not done.stderr, done.stderr
    rendered = subprocess.run([world.binaries / "template", deploy / "chart", "delivery=initContainer",
                               "policies=v1beta1"], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert objects(built) == objects(rendered)


@case
def the_chart_is_the_same(world):
    deploy = world.root / "deploy/kubernetes"
    pairs = (("base", []), ("overlays/hostpath", ["delivery=hostPath"]),
             ("overlays/init-container", ["delivery=initContainer"]), ("overlays/trust-manager", ["configMaps=true"]))
    for folder, values in pairs:
        built = subprocess.run([world.binaries / "kubectl", "kustomize", deploy / folder], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        rendered = subprocess.run([world.binaries / "template", deploy / "chart", *values], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout
        assert objects(built) == objects(rendered), folder
        other = subprocess.run([world.binaries / "template", deploy / "chart", "image=other.example/x", *values],
                               check=True, stdout=subprocess.PIPE, text=True).stdout
        assert pods.LIBRARY_IMAGE not in other, folder


def objects(text):
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text) if one}

"""What the API server makes of pods once the base is applied."""

import bundles
import pods

CASES = []


def case(function):
    CASES.append(("admission: " + function.__name__.replace("_", " "), function))
    return function


def admitted(world, namespace, **described):
    return pods.create(world.cluster, pods.pod(namespace, **described))


@case
def the_base_is_applied_and_works(world):
    """Policies reach the API server's caches some time after kubectl has returned."""
    world.cluster.kubectl("apply", "-k", world.root / "deploy/kubernetes/base")
    bundles.trust(world, "root")
    pods.namespace(world.cluster, "served", windlass="enabled")
    pods.namespace(world.cluster, "plain")

    def is_mutated():
        probe = pods.pod("served")
        done = world.cluster.try_kubectl("create", "--dry-run=server", "-o", "json", "-f", "-",
                                         input=pods.json.dumps(probe))
        return "windlass-library" in done.stdout and "windlass-trust" in done.stdout and not done.stderr
    world.cluster.eventually("a pod gets the library and the trust", is_mutated)
    for kind in ("mutatingadmissionpolicies", "validatingadmissionpolicies"):
        for policy in world.cluster.get(kind)["items"]:
            warnings = policy.get("status", {}).get("typeChecking", {}).get("expressionWarnings")
            assert not warnings, warnings


@case
def a_pod_without_the_label_stays_as_it_is(world):
    plain = pods.pod("plain")
    mutated, said = pods.create(world.cluster, plain)
    assert not said and "windlass" not in str(mutated["spec"]), (said, mutated["spec"])
    out, _ = admitted(world, "served", labels={"windlass": "disabled"})
    assert "windlass" not in str(out["spec"]), out["spec"]


@case
def a_label_on_the_pod_is_enough(world):
    mutated, said = admitted(world, "plain", labels={"windlass": "enabled"})
    assert not said and mutated["spec"]["containers"][0]["env"], said


@case
def each_container_gets_all_of_it_once(world):
    spec = {"initContainers": [{"name": "first", "image": "debian", "command": ["true"]}],
            "containers": [{"name": name, "image": "debian", "command": ["true"]} for name in ("one", "two")]}
    mutated, said = admitted(world, "served", spec=spec, labels={"windlass": "enabled"})
    assert not said, said
    names = sorted(volume["name"] for volume in mutated["spec"]["volumes"])
    assert names == ["windlass-library", "windlass-trust"], names
    for container in mutated["spec"]["containers"] + mutated["spec"]["initContainers"]:
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounts == {"windlass-library": "/opt/windlass", "windlass-trust": "/etc/windlass/trust"}, mounts
        listed = [one["name"] for one in container["env"]]
        assert len(listed) == len(set(listed)), listed
        assert {"LD_PRELOAD", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"} < set(listed), listed
        assert "JDK_JAVA_OPTIONS" not in listed and "CURL_CA_BUNDLE" not in listed, listed


@case
def what_the_pod_sets_itself_stays(world):
    mutated, said = admitted(world, "served", env=[
        {"name": "LD_PRELOAD", "value": "libjemalloc.so.2"}, {"name": "REQUESTS_CA_BUNDLE", "value": "/own.pem"},
        {"name": "SSL_CERT_DIR", "value": "/own"}])
    found = pods.environment(mutated["spec"]["containers"][0])
    assert found["LD_PRELOAD"] == "/opt/windlass/library/$LIB/libwindlass_preload.so:libjemalloc.so.2", found
    assert found["REQUESTS_CA_BUNDLE"] == "/own.pem" and found["SSL_CERT_DIR"] == "/own", found
    assert "SSL_CERT_FILE" not in found and found["PIP_CERT"] == "/etc/windlass/trust/ca-certificates.crt", found
    assert "main names trust of its own" in said, said


@case
def what_can_not_be_read_here_is_left_alone(world):
    """And the pod says so, in a warning and in the audit log."""
    settings = {"envFrom": [{"configMapRef": {"name": "settings", "optional": True}}]}
    left, said = admitted(world, "served", **settings)
    assert "env" not in left["spec"]["containers"][0] and "volumes" not in left["spec"], left["spec"]
    assert "main is left alone: its envFrom may hold LD_PRELOAD" in said, said
    audit = (world.cluster.folder / "audit.log").read_text()
    assert "is left alone" in audit
    mutated, said = admitted(world, "served", labels={"windlass-env-from": "ignore"}, **settings)
    assert "LD_PRELOAD" in pods.environment(mutated["spec"]["containers"][0]) and not said, said
    left, said = admitted(world, "served", env=[
        {"name": "LD_PRELOAD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])
    assert len(left["spec"]["containers"][0]["env"]) > 1 and "runs without the library" in said, (left["spec"], said)
    own = [{"name": "own", "mountPath": "/opt/windlass/x"}]
    left, said = admitted(world, "served", volumeMounts=own, spec={"volumes": [{"name": "own", "emptyDir": {}}]})
    assert "LD_PRELOAD" not in pods.environment(left["spec"]["containers"][0]), left["spec"]
    assert "runs without the library" in said, said


@case
def java_gets_the_token_by_a_label(world):
    mutated, said = admitted(world, "served", labels={"windlass-java": "token"})
    found = pods.environment(mutated["spec"]["containers"][0])
    assert "trustStoreType=PKCS11" in found["JDK_JAVA_OPTIONS"] and not said, (found, said)
    mutated, said = admitted(world, "served", labels={"windlass-java": "token"},
                             env=[{"name": "JDK_JAVA_OPTIONS", "value": "-Dx=y"}])
    assert pods.environment(mutated["spec"]["containers"][0])["JDK_JAVA_OPTIONS"] == "-Dx=y"


@case
def windows_and_mirror_pods_stay_as_they_are(world):
    windows, _ = admitted(world, "served", spec={"os": {"name": "windows"}})
    assert "windlass" not in str(windows["spec"]), windows["spec"]


@case
def the_restricted_level_is_passed(world):
    """A pod that pod security admits still is admitted."""
    make_restricted(world)
    mutated, said = admitted(world, "restricted", **RESTRICTED)
    assert "windlass-library" in str(mutated["spec"]["volumes"]) and not said, (mutated["spec"], said)


def make_restricted(world):
    pods.namespace(world.cluster, "restricted", windlass="enabled", **{
        "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"})


RESTRICTED = {
    "spec": {"securityContext": {"runAsNonRoot": True, "runAsUser": 1000,
                                 "seccompProfile": {"type": "RuntimeDefault"}}},
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}

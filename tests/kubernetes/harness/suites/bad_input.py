"""What can be wrong: each says so where an operator looks, and the pod runs as without."""

import itertools
import ssl
import subprocess

import bundles
import pods
from suites.admission import RESTRICTED
from suites.freshness import Program, written

CASES = []


def case(function):
    CASES.append(("bad input: " + function.__name__.replace("_", " "), function))
    return function


def refused(world, bundle, why):
    """The API server takes no such bundle, and the old one stays."""
    program = Program(world, ["python3", world.programs / "client.py"])
    try:
        done = world.cluster.try_kubectl("apply", "--server-side", "--force-conflicts", "-f", "-",
                                         input=pods.json.dumps(bundle))
        assert done.returncode and why in done.stderr, done.stderr
        assert program.ask(world.hosts.url("good")) == "accepted"
    finally:
        program.end()


@case
def a_damaged_certificate(world):
    [bundle] = bundles.made(world, "root")
    text = bundle["spec"]["trustBundle"]
    bundle["spec"]["trustBundle"] = text[:2000].replace("M", "N") + text[2000:]
    refused(world, bundle, "does not parse as X.509")


@case
def an_empty_bundle(world):
    [bundle] = bundles.made(world, "root")
    bundle["spec"]["trustBundle"] = "# nothing\n"
    refused(world, bundle, "at least one trust anchor must be provided")


@case
def no_bundle_at_all(world):
    """The pod keeps the trust of its image, and the library; a warning says so."""
    bundles.forget(world)
    try:
        said = world.cluster.eventually("the API server knows that it is gone", lambda: create(world)[1])
        assert "keeps the trust of its image" in said, said
        mutated, _ = create(world)
        found = pods.environment(mutated["spec"]["containers"][0])
        assert "SSL_CERT_FILE" not in found and "LD_PRELOAD" in found, found
        assert world.node.run(mutated) == (0, "", "")
    finally:
        bundles.trust(world, "root")
        world.cluster.eventually("it knows the bundle", lambda: not create(world)[1])


def create(world):
    return pods.create(world.cluster, pods.pod("served"))


@case
def a_bundle_that_is_deleted_under_a_running_pod(world):
    """It keeps the last one, and the kubelet says so in an event."""
    program = Program(world, ["python3", world.programs / "client.py"])
    try:
        assert program.ask(world.hosts.url("good")) == "accepted"
        bundles.forget(world)
        name = program.pod["metadata"]["name"]
        event = world.cluster.eventually("an event", lambda: [
            event["message"] for event in world.cluster.get("events", "-n", "served")["items"]
            if event["involvedObject"]["name"] == name and event["reason"] == "FailedMount"])
        assert 'windlass" not found' in event[0], event
        assert program.ask(world.hosts.url("good")) == "accepted"
        bundles.trust(world, "other")
        written(world, program.pod, ("other",))
        assert program.ask(world.hosts.url("good")) == "refused"
    finally:
        bundles.trust(world, "root")
        program.end()


@case
def a_read_only_root_and_no_privileges(world):
    of_pod = {**RESTRICTED["spec"]["securityContext"], "runAsGroup": 1000, "fsGroup": 2000}
    described = {"spec": {"securityContext": of_pod},
                 "securityContext": {**RESTRICTED["securityContext"], "readOnlyRootFilesystem": True}}
    program = Program(world, ["python3", "-B", world.programs / "client.py"], **described)
    try:
        assert program.ask(world.hosts.url("good")) == "accepted"
        assert program.ask(world.hosts.url("untrusted")) == "refused"
    finally:
        program.end()


@case
def a_set_user_id_program(world):
    """Under secure execution the linker ignores LD_PRELOAD, without a word."""
    mutated, said = pods.create(world.cluster, pods.pod("served", command=["/usr/bin/mount", "--version"],
                                                        securityContext={"runAsUser": 1000}))
    status, out, err = world.node.run(mutated)
    assert (status, err, said) == (0, "", "") and out.startswith("mount from"), (status, out, err, said)


@case
def more_than_a_mebibyte(world):
    """Several objects of one signer are one file in the pod."""
    many = world.folder / "many.pem"
    many.write_text("".join(itertools.islice(authorities(), 2200)))
    parts = bundles.made(world, "root", signer="windlass.example/trust", files=(bundles.SYSTEM_BUNDLE, many))
    assert len(parts) == 2, [len(part["spec"]["trustBundle"]) for part in parts]
    try:
        world.cluster.kubectl("delete", "clustertrustbundle", "windlass")
        world.cluster.apply(*parts)
        world.cluster.eventually("a pod gets them", lambda: "signerName" in str(create(world)[0]["spec"]["volumes"]))
        program = Program(world, ["python3", world.programs / "client.py"])
        try:
            place = world.node.volumes(program.pod)["windlass-trust"] + "/ca-certificates.crt"
            with open(place, encoding="ascii") as file:
                held = file.read().count("BEGIN CERTIFICATE")
            assert held == world.pki.system_count + 2201, held
            assert program.ask(world.hosts.url("good")) == "accepted"
            # The root is in the second part.
            world.cluster.kubectl("delete", "clustertrustbundle", parts[1]["metadata"]["name"])
            written(world, program.pod, ())
            assert program.ask(world.hosts.url("good")) == "refused"
        finally:
            program.end()
    finally:
        bundles.forget(world)
        bundles.trust(world, "root")
        world.cluster.eventually("pods get the old one", lambda: '"name": "windlass"' in pods.json.dumps(
            create(world)[0]["spec"].get("volumes", [])))


def authorities():
    """Certificates of one CA that differ in their serial numbers: four bytes that are counted up."""
    der = bytearray(subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
         "/dev/null", "-days", "30", "-subj", "/CN=One of many", "-set_serial", "0x11223344", "-outform", "DER"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    place = der.index(bytes.fromhex("020411223344")) + 2
    while True:
        yield ssl.DER_cert_to_PEM_cert(bytes(der))
        der[place:place + 4] = (int.from_bytes(der[place:place + 4], "big") + 1).to_bytes(4, "big")

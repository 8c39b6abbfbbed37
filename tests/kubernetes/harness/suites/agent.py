"""The agent on each node (`windlass top --metrics`), as its DaemonSet says: with its privileges, and not with fewer."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess

import pods
from scrape import Metrics, cgroups, total
from servers import reserve_port
from suites.admission import RESTRICTED, make_restricted
from suites.overlays import objects

CASES = []
NAMESPACE = "windlass-agent"
# capability.h.
CAPABILITIES = {"SYS_ADMIN": 21, "SYS_PTRACE": 19, "DAC_READ_SEARCH": 2}
# What a machine's site modules open is not the program's.
LOADS = ["python3", "-S", "-c", "import ssl, sys\nfor line in sys.stdin:\n  ssl.create_default_context()\n"
         "  print('made', flush=True)"]


def case(function):
    CASES.append(("agent: " + function.__name__.replace("_", " "), function))
    return function


def deploy(world):
    return world.root / "deploy/kubernetes"


def described(world, namespace=NAMESPACE):
    """The pod that the controller makes of the DaemonSet. Another program of the machine may have its port."""
    world.cluster.kubectl("apply", "-k", deploy(world) / "agent/pod")
    template = world.cluster.get("daemonset", "-n", NAMESPACE, NAMESPACE)["spec"]["template"]
    pod = {**pods.pod(namespace), "spec": {**template["spec"], "nodeName": "node"}}
    pod["metadata"]["labels"] = template["metadata"]["labels"]
    [container] = pod["spec"]["containers"]
    port = str(reserve_port())
    container["args"] = [word.replace("9753", port) for word in container["args"]]
    return pod


class Agent(Metrics):
    """A running agent, without one of its capabilities."""

    def __init__(self, world, without=None):
        pod = described(world)
        capabilities = pod["spec"]["containers"][0]["securityContext"]["capabilities"]
        assert set(capabilities["add"]) == set(CAPABILITIES), capabilities
        capabilities["add"] = [name for name in CAPABILITIES if name != without]
        mutated, said = pods.create(world.cluster, pod)
        assert not said, said
        self.world, self.process = world, world.node.start(mutated)
        self.said = [self.process.stderr.readline() for _ in range(2)]
        super().__init__(self.said[1].removeprefix("windlass: metrics at ").strip())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.world.node.end(self.process)


class Container:
    """A pod's process in the group that the kubelet and a runtime with the cgroupfs driver would have made."""

    def __init__(self, world, groups, namespace, **more):
        pod, _ = pods.create(world.cluster, pods.pod(namespace, command=LOADS, **more))
        self.world, self.process = world, world.node.start(pod)
        uid = pod["metadata"]["uid"]
        self.labels = {"pod_uid": uid, "container_id": hashlib.sha256(uid.encode()).hexdigest()}
        group = os.path.join(groups, f"kubepods/burstable/pod{uid}", self.labels["container_id"])
        os.makedirs(group)
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(self.process.pid))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.world.node.end(self.process)

    def load(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line == "made\n", (line, self.process.stderr.read())

    def opens(self, samples, **labels):
        return total(samples, "windlass_opens_total", **self.labels, **labels)

    def seen(self, agent, **labels):
        """Loads until the agent has counted an open with these labels: it finds a new container within a second."""
        def again(samples):
            self.load()
            return self.opens(samples, library="openssl", linkage="dynamic", **labels) and samples
        return agent.wait_for(f"an open with {labels}", again)


@contextlib.contextmanager
def containers(world):
    """One that is served, one that is not, and one of another user who has switched the library off."""
    make_restricted(world)
    off = {**RESTRICTED, "env": [{"name": "WINDLASS_DISABLE", "value": "1"}]}
    with cgroups(world) as groups, Container(world, groups, "served") as served, \
            Container(world, groups, "served", labels={"windlass": "disabled"}) as plain, \
            Container(world, groups, "restricted", **off) as disabled:
        yield served, plain, disabled


@case
def who_is_served_and_who_is_not(world):
    with Agent(world) as agent, containers(world) as (served, plain, disabled):
        status = dict(line.split(":\t", 1) for line in open(f"/proc/{agent.process.pid}/status", encoding="utf-8"))
        granted = sum(1 << number for number in CAPABILITIES.values())
        for name in ("CapPrm", "CapEff", "CapBnd"):
            assert int(status[name], 16) == granted, (name, status[name])
        assert int(status["NoNewPrivs"]) == 1
        served.seen(agent, served="yes", reason="")
        plain.seen(agent, served="no", reason="not-preloaded")
        samples = disabled.seen(agent, served="no", reason="disabled")
        for one in (served, plain, disabled):
            assert total(samples, "windlass_opened_bytes_total", **one.labels) > 0, samples
            assert total(samples, "windlass_processes_total", **one.labels) == 1, samples
        running = lambda samples, one: total(samples, "windlass_running_processes", **one.labels)
        samples = agent.wait_for("a look at the running processes", lambda samples: all(
            running(samples, one) for one in (served, plain, disabled)) and samples)
        assert total(samples, "windlass_watch_failed") == 0, samples


@case
def each_capability_is_needed(world):
    refused = Agent(world, without="SYS_ADMIN")
    assert refused.process.wait(timeout=60) == 1 and "CAP_SYS_ADMIN" in refused.said[0], refused.said
    with Agent(world) as whole, Agent(world, without="SYS_PTRACE") as blind, \
            Agent(world, without="DAC_READ_SEARCH") as shut, containers(world) as (served, plain, disabled):
        for one in (served, plain, disabled):
            one.seen(whole)
            assert one.opens(blind.samples()) == 0, blind.text()
        disabled.seen(shut)
        assert disabled.opens(shut.samples(), reason="disabled") == 0, shut.text()


@case
def pod_security_refuses_it_elsewhere(world):
    make_restricted(world)
    pod = described(world, "restricted")
    done = world.cluster.try_kubectl("create", "-f", "-", input=json.dumps(pod))
    assert done.returncode == 1, done.stdout
    for part in ('violates PodSecurity "restricted:latest"', "host namespaces (hostPID=true)",
                 "unrestricted capabilities", "SYS_ADMIN", "forbidden AppArmor profile", "runAsUser=0"):
        assert part in done.stderr, (part, done.stderr)
    described_set = world.cluster.get("daemonset", "-n", NAMESPACE, NAMESPACE)
    described_set["metadata"] = {"name": NAMESPACE, "namespace": "restricted"}
    done = world.cluster.try_kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(described_set))
    assert done.returncode == 0 and "would violate PodSecurity" in done.stderr, done.stderr


@case
def the_chart_has_it_on_demand(world):
    def rendered(*values):
        return objects(subprocess.run([world.binaries / "template", deploy(world) / "chart", *values], check=True,
                                      stdout=subprocess.PIPE, text=True).stdout)
    plain = rendered()
    for where in ("loopback", "pod"):
        folder = deploy(world) / "agent" / where
        own = objects(world.cluster.kubectl("kustomize", folder))
        assert not own.keys() & plain.keys() and rendered(f"agent={where}") == {**plain, **own}
        assert "other.example/y" in str(rendered(f"agent={where}", "agentImage=other.example/y"))
        done = world.cluster.try_kubectl("apply", "--dry-run=server", "-k", folder)
        assert done.returncode == 0 and not done.stderr, done.stderr


@case
def the_overlay_of_the_page_names_an_image(world):
    text = (world.root / "docs/kubernetes.md").read_text(encoding="utf-8")
    [overlay] = [block for block in re.findall(r"```yaml\n(.*?)```", text, re.S) if "agent/loopback" in block]
    folder = world.folder / "agent-overlay"
    shutil.copytree(deploy(world) / "agent", folder / "deploy/kubernetes/agent")
    (folder / "kustomization.yaml").write_text(overlay.replace("…", "."), encoding="utf-8")
    made = objects(world.cluster.kubectl("kustomize", folder))
    [container] = made["DaemonSet", NAMESPACE]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == pods.AGENT_IMAGE.replace("registry.example", "REGISTRY"), container["image"]

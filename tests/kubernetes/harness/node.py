"""The node: the kubelet's volumes (go/node), and the commands of the pods as processes."""

import itertools
import json
import pathlib
import re
import subprocess
import time

from sides import die_with_parent

# There is no network of pods.
POD_IP = "127.0.0.1"
CONTAINER = pathlib.Path(__file__).resolve().parent / "container.py"


class Node:
    """`images` has the root directory of each image by its reference."""

    def __init__(self, cluster, binaries, folder, images):
        folder.mkdir()
        self.cluster, self.folder, self.images = cluster, folder, images
        self.numbers = itertools.count()
        self.running = []
        self.process = subprocess.Popen([binaries / "node", cluster.kubeconfig, folder / "kubelet"],
                                        stdin=subprocess.PIPE, stdout=(folder / "log").open("wb"),
                                        stderr=subprocess.STDOUT, preexec_fn=die_with_parent)

    def volumes(self, pod, seconds=60):
        """The directory of each volume, once the kubelet's part is done; None if it is not done in time."""
        ready = self.folder / "kubelet/ready" / (pod["metadata"]["uid"] + ".json")
        deadline = time.monotonic() + seconds
        while not ready.exists():
            if time.monotonic() > deadline:
                return None
            time.sleep(0.05)
        places = json.loads(ready.read_text())
        for volume in pod["spec"].get("volumes", []):
            if "image" in volume:
                places[volume["name"]] = str(self.images[volume["image"]["reference"]])
            elif "hostPath" in volume:
                places[volume["name"]] = str(self.host_path(volume["hostPath"]["path"]))
        return places

    def host_path(self, path):
        """This machine's own files are not the node's."""
        place = self.folder / "host" / path.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        return place

    def start(self, pod, container=None, image_environment=None):
        """Runs the pod's init containers to their end, then starts a container (the first if none is named)."""
        places = self.volumes(pod)
        assert places is not None, f"no volumes: {self.cluster.kubectl('get', 'events', '-A')}"
        for one in pod["spec"].get("initContainers", []):
            done = self._process(pod, one, places, {}).communicate(timeout=120)
            assert self.running[-1].returncode == 0, f"init container {one['name']}: {done}"
        wanted = [one for one in pod["spec"]["containers"] if container in (None, one["name"])]
        return self._process(pod, wanted[0], places, image_environment or {})

    def _process(self, pod, container, places, image_environment):
        number = next(self.numbers)
        asked = self.folder / f"container-{number}.json"
        scratch = self.folder / f"scratch-{number}"
        scratch.mkdir()
        # The image's own variables, then the pod's, as a runtime joins them.
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **image_environment,
                       **{one["name"]: value(one) for one in container.get("env", [])}}
        command = [re.sub(r"\$\((\w+)\)", lambda found: environment.get(found[1], found[0]), word)
                   for word in container.get("command", []) + container.get("args", [])]
        asked.write_text(json.dumps({
            "scratch": str(scratch), "image": str(self.images[container["image"]]),
            "mounts": [{**one, "source": places[one["name"]]} for one in container.get("volumeMounts", [])],
            "securityContext": {**pod["spec"].get("securityContext", {}), **container.get("securityContext", {})},
            "command": command, "environment": environment}))
        # Without the machine's site modules: they may open bundles, and a runtime opens none.
        command = ["unshare", "--mount", "--propagation", "slave", "/usr/bin/python3", "-BS", CONTAINER, asked]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, preexec_fn=die_with_parent, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        self.running.append(process)
        return process

    def run(self, pod, container=None, image_environment=None):
        """Status and both streams of a container that ends by itself."""
        process = self.start(pod, container, image_environment)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def end(self, process):
        process.stdin.close()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        # emptyDir in memory is a mount of ours (projected volumes).
        mounted = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
        for place in reversed([place for place in mounted if place.startswith(str(self.folder))]):
            subprocess.run(["umount", place], check=False)


def value(variable):
    """Of the fields that a variable may name, only the pod's address is used here."""
    field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
    return POD_IP if field == "status.podIP" else variable.get("value", "")

"""The commands of docs/kubernetes.md, as they stand there, from an empty cluster to the first pod served."""

import json
import re
import subprocess

BLOCK = re.compile(r"<!-- run -->\n+```sh\n(.*?)```", re.S)


def the_first_steps(world):
    text = (world.root / "docs/kubernetes.md").read_text(encoding="utf-8")
    commands = [line for block in BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines() if line]
    assert len(commands) == 6, commands
    for command in commands:
        run(world, command)
    # What a scheduler does.
    world.cluster.kubectl("create", "--raw", "/api/v1/namespaces/shop/pods/first/binding", "-f", "-",
                          input=json.dumps({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "first"},
                                            "target": {"apiVersion": "v1", "kind": "Node", "name": "node"}}))
    status, out, err = world.node.run(world.cluster.get("pod", "first", "-n", "shop"))
    assert (status, err) == (0, "") and out == f"{world.pki.system_count} True\n", (status, out, err)


def run(world, command):
    # The images of the tests are directories, by the name that the manifests have.
    done = subprocess.run(["sh", "-c", command], cwd=world.root, text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120,
                          env={"REGISTRY": "registry.example",
                               "PATH": f"{world.binaries}:/usr/bin:/bin", "HOME": str(world.folder),
                               "KUBECONFIG": str(world.cluster.kubeconfig)})
    assert done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


CASES = [("guide: the first steps", the_first_steps)]

"""The commands of docs/kubernetes.md, as they stand there, from an empty cluster to the first pod served."""

import json
import re
import subprocess

import pods

BLOCK = re.compile(r"<!-- run -->\n+```sh\n(.*?)```", re.S)


def the_five_commands(world):
    text = (world.root / "docs/kubernetes.md").read_text(encoding="utf-8")
    commands = [line for block in BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines() if line]
    assert len(commands) == 5, commands
    for command in commands[:4]:
        run(world, command)
    # A policy reaches the API server's caches some time after kubectl has returned; the page says so.
    world.cluster.eventually("the policies are in force", lambda: "windlass-trust" in run(
        world, "kubectl run try -n shop --image=x --dry-run=server -o json"))
    run(world, commands[4])
    # What a scheduler does.
    world.cluster.kubectl("create", "--raw", "/api/v1/namespaces/shop/pods/first/binding", "-f", "-",
                          input=json.dumps({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "first"},
                                            "target": {"apiVersion": "v1", "kind": "Node", "name": "node"}}))
    status, out, err = world.node.run(world.cluster.get("pod", "first", "-n", "shop"))
    assert (status, err) == (0, "") and out == f"{world.pki.system_count} True\n", (status, out, err)


def run(world, command):
    done = subprocess.run(["sh", "-c", command], cwd=world.root, text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT,
                          env={"PATH": f"{world.binaries}:/usr/bin:/bin", "HOME": str(world.folder),
                               "KUBECONFIG": str(world.cluster.kubeconfig)})
    assert done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


CASES = [("guide: the five commands", the_five_commands)]

"""What one change of the bundle costs the API server: a thousand kubelets that watch, each on its own connection."""

import json
import pathlib
import resource
import subprocess

import bundles
import pods
from sides import die_with_parent

WATCHERS, CHANGES, PODS = 1000, 4, 100


def cpu(process):
    """Seconds that a process has computed (proc(5))."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def resident(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def one_change_for_a_thousand_watchers(world):
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, max(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    bundles.trust(world, "root")
    made = {name: bundles.made(world, name) for name in ("root", "other")}
    size = len(made["root"][0]["spec"]["trustBundle"])
    server = world.cluster.server
    before = resident(server)
    watchers = subprocess.Popen([world.binaries / "watchers", world.cluster.kubeconfig, str(WATCHERS), str(CHANGES)],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
    try:
        assert watchers.stdout.readline() == "ready\n"
        watching = resident(server)
        spent = []
        for number in range(CHANGES):
            watchers.stdin.write("next\n")
            watchers.stdin.flush()
            begun = cpu(server)
            world.cluster.apply(*made["other" if number % 2 == 0 else "root"])
            assert watchers.stdout.readline() == "done\n"
            spent.append(cpu(server) - begun)
        report = json.loads(watchers.stdout.readline())
    finally:
        watchers.kill()
        watchers.wait()
        bundles.trust(world, "root")
    assert report["events"] == WATCHERS * CHANGES, report
    each = report["received"] / report["events"]
    return (f"{WATCHERS} watchers, bundle of {size:,} bytes: {report['events'] // CHANGES:,} events and"
            f" {report['received'] / CHANGES / 1e6:.1f} MB a change, {each:,.0f} bytes a watcher;"
            f" {sorted(spent)[CHANGES // 2]:.2f} s of the API server's CPU a change;"
            f" {(watching - before) * 1024 / WATCHERS:.0f} KiB of its memory a watcher;"
            f" to list once: {report['list_received'] / WATCHERS:,.0f} bytes a watcher")


def the_policies_of_a_pod(world):
    """The API server's CPU for creating pods, with and without the label, in turns."""
    spent = {"plain": [], "served": []}
    for _ in range(3):
        for namespace, rounds in spent.items():
            listed = {"apiVersion": "v1", "kind": "List", "items": [pods.pod(namespace) for _ in range(PODS)]}
            begun = cpu(world.cluster.server)
            world.cluster.kubectl("create", "-f", "-", input=json.dumps(listed))
            rounds.append((cpu(world.cluster.server) - begun) / PODS * 1000)
            world.cluster.kubectl("delete", "pods", "-n", namespace, "--all", "--now", "--wait=false")
    plain, served = (sorted(rounds)[1] for rounds in spent.values())
    return f"{plain:.1f} ms of the API server's CPU for a pod without the label, {served:.1f} ms with it"


CASES = [("scale: the policies of a pod", the_policies_of_a_pod),
         ("scale: one change for a thousand watchers", one_change_for_a_thousand_watchers)]

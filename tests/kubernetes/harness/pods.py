"""Pods, the images that they name, and the programs in those."""

import itertools
import json
import pathlib
import re
import shutil
import subprocess

# As deploy/kubernetes/generate.py names it.
VERSION = re.search(r'^version = "(.*)"', (pathlib.Path(__file__).parents[3] / "Cargo.toml").read_text(), re.M)[1]
LIBRARY_IMAGE = f"registry.example/windlass-library:{VERSION}"
AGENT_IMAGE = f"registry.example/windlass-agent:{VERSION}"
LOADER, MUSL = "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"
_numbers = itertools.count()


def pod(namespace, image="debian", command=("true",), labels=None, spec=None, **container):
    """A pod for kubectl. It is bound to the node at once, as there is no scheduler."""
    name = f"pod-{next(_numbers)}"
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, **({"labels": labels} if labels else {})},
            "spec": {"nodeName": "node", "automountServiceAccountToken": False,
                     "containers": [{"name": "main", "image": image, "command": list(map(str, command)), **container}],
                     **(spec or {})}}


def create(cluster, described):
    """The pod as the API server admitted it, and what it said: warnings come on standard error."""
    done = cluster.try_kubectl("create", "-o", "json", "-f", "-", input=json.dumps(described))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def environment(container):
    return {one["name"]: one.get("value") for one in container.get("env", [])}


def namespace(cluster, name, **labels):
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    return name


def compiled(sources, out):
    """The programs that are not scripts."""
    out.mkdir(parents=True, exist_ok=True)
    commands = {
        "client.go": ["go", "build", "-trimpath", "-o", out / "client-go", sources / "client.go"],
        "Client.java": ["javac", "-d", out, sources / "Client.java"],
        "hello.c": ["musl-gcc", "-o", out / "hello-musl", sources / "hello.c"],
        "hello.c ": ["cc", "-o", out / "hello", sources / "hello.c"],
    }
    for command in commands.values():
        subprocess.run(list(map(str, command)), check=True)
    return out


def images(root, target, folder, built, pki):
    """debian is this machine; trusting is, too, and trusts the tests' root; alpine has musl and nothing else;
    distroless has glibc, OpenSSL and one program; the agent's has glibc and the command."""
    folder.mkdir()
    library = folder / "library"
    subprocess.run([root / "deploy/kubernetes/image/build.sh", target / "release", library], check=True)
    # What the Dockerfile starts from.
    shutil.copy("/bin/busybox", library / "root/bin/busybox")
    for name in ("sh", "find", "mkdir", "cp", "mv", "sleep"):
        (library / "root/bin" / name).symlink_to("busybox")
    alpine = folder / "alpine"
    copy(alpine, "/lib/x86_64-linux-musl/libc.so" if pathlib.Path("/lib/x86_64-linux-musl/libc.so").exists() else MUSL,
         MUSL)
    copy(alpine, built / "hello-musl", "/bin/hello")
    distroless = folder / "distroless"
    copy_program(distroless, "/usr/bin/openssl", "/usr/bin/openssl")
    copy(distroless, "/etc/ssl/openssl.cnf", "/usr/lib/ssl/openssl.cnf")
    copy(distroless, built / "hello", "/bin/hello")
    subprocess.run([root / "deploy/kubernetes/image/build-agent.sh", target / "release", folder / "built"], check=True)
    agent = folder / "agent"
    copy_program(agent, folder / "built/windlass", "/bin/windlass")
    trusting = folder / "trusting"
    copy(trusting, pki.bundle, "/etc/ssl/certs/ca-certificates.crt")
    for link in pki.capath.iterdir():
        copy(trusting, link, f"/etc/ssl/certs/{link.name}")
    return {"debian": pathlib.Path("/"), "python:3.12-slim": pathlib.Path("/"), "alpine": alpine,
            "distroless": distroless, "trusting": f"{trusting}:/", LIBRARY_IMAGE: library / "root",
            AGENT_IMAGE: agent}


def copy_program(image, source, place):
    """With its libraries."""
    for line in subprocess.run(["ldd", source], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        for word in line.split():
            if word.startswith("/"):
                copy(image, word, word)
    copy(image, source, place)


def copy(image, source, place):
    target = image / str(place).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)

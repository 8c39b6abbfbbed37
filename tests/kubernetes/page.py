"""The commands of docs/kubernetes.md, without a cluster: an image that is applied has been built and pushed before.

In place of docker and kubectl are programs that note what they are given. manifests.py runs the cases.
"""

import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/kubernetes.md"
BUILT = ("windlass", "libwindlass_preload.so", "libwindlass_pkcs11.so")
STUBS = {
    "docker": r'''case $1 in
build) for from in Dockerfile $(sed -n 's/^COPY \([^ ]*\) .*/\1/p' "$4/Dockerfile"); do
        [ -e "$4/$from" ] || { echo "docker: no $4/$from" >&2; exit 1; }
    done
    echo "$3" >>built ;;
push) grep -Fqx "$2" built && echo "$2" >>pushed ;;
esac''',
    "kubectl": r'''case "$*" in
kustomize*) for name in $(sed -n 's/^  - //p' "$2/kustomization.yaml"); do cat "$2/$name"; done ;;
apply*-f\ -) cat >>applied ;;
apply*) echo "kubectl: what is applied is not noted" >&2; exit 1 ;;
*--dry-run=server*) echo windlass-library windlass-trust ;;
esac
echo "$*" >>asked''',
    "make": "", "curl": "",
}


def block(name):
    """The commands of a block that has a mark."""
    found, = re.findall(rf"<!-- {name} -->\n+```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    return found


def run(*blocks):
    """What is in the files that the programs wrote, by their names."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "bin").mkdir()
        (folder / "target/release").mkdir(parents=True)
        (folder / "deploy").symlink_to(ROOT / "deploy")
        for name in BUILT:
            (folder / "target/release" / name).touch()
        for name, text in STUBS.items():
            program = folder / "bin" / name
            program.write_text(f"#!/bin/sh\nset -eu\n{text}\n", encoding="ascii")
            program.chmod(0o755)
        script = "set -eu\n" + "".join(map(block, blocks)).replace("=registry.example ", "=registry.test:5000 ")
        done = subprocess.run(["bash", "-o", "pipefail", "-c", script], cwd=folder, text=True, check=False, timeout=60,
                              env={"PATH": f"{folder}/bin:/usr/bin:/bin"}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        assert done.returncode == 0 and done.stdout == "", done
        return {name: (folder / name).read_text(encoding="utf-8") for name in os.listdir(folder)
                if (folder / name).is_file()}


def applied_images_are_pushed(noted, image):
    named = set(re.findall(r"registry\.[^\s\"']+", noted["applied"]))
    assert named == {f"registry.test:5000/{image}"} == set(noted["pushed"].split()), (named, noted["pushed"])


def the_first_steps_of_the_page():
    noted = run("build", "run")
    applied_images_are_pushed(noted, "windlass-library:0.1.0")
    assert "ClusterTrustBundle" in noted["applied"] and noted["asked"].count("run first ") == 1, noted["asked"]


def the_agent_of_the_page():
    applied_images_are_pushed(run("agent"), "windlass-agent:0.1.0")


CASES = (the_first_steps_of_the_page, the_agent_of_the_page)

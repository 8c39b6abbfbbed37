"""The two modules, each in a mount namespace of its own in which it is the machine's only one, and a bundle of ours is the machine's."""

import glob
import os
import subprocess

MODULES = "/usr/share/p11-kit/modules"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
STEP_SECONDS = 300

# $1 modules, $2 bundle, then the command. Nothing of this is seen outside.
ENTER = f'mount --bind "$1" {MODULES} && mount --bind "$2" {BUNDLE} && shift 2 && exec "$@"'


class Side:
    def __init__(self, name, module, folder):
        self.name, self.module = name, module
        self.modules = os.path.join(folder, "modules-" + name)
        os.mkdir(self.modules)
        with open(os.path.join(self.modules, "trust.module"), "w", encoding="ascii") as file:
            file.write(f"module: {module}\ntrust-policy: yes\npriority: 1\n")

    def run(self, bundle, *command, fails=False):
        """Standard output of a command; its exit status must be 0, or must not be."""
        enter = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "sh", self.modules, bundle]
        done = subprocess.run(
            [*enter, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", timeout=STEP_SECONDS, check=False,
        )
        if fails is not None and (done.returncode != 0) != fails:
            raise AssertionError(f"{self.name}: {command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def sides(library, folder):
    found = glob.glob("/usr/lib/*/pkcs11/p11-kit-trust.so")
    assert found, "p11-kit-trust.so: install p11-kit-modules"
    return Side("windlass", os.path.abspath(library), folder), Side("p11-kit", found[0], folder)

"""The two modules, each in a mount namespace of its own in which it is the machine's only one, and a bundle of ours is
the machine's."""

import glob
import os
import subprocess

MODULES = "/usr/share/p11-kit/modules"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
STEP_SECONDS = 300

# $1 modules, $2 bundle, then the command. Nothing of this is seen outside.
ENTER = f'mount --bind "$1" {MODULES} && mount --bind "$2" {BUNDLE} && shift 2 && exec "$@"'
# $2 is a directory in which the bundle's name is that of a place.
ENTER_AT = f'mount --bind "$1" {MODULES} && mount --bind "$2" {os.path.dirname(BUNDLE)} && shift 2 && exec "$@"'
# $0 a directory with packages of another release, C library and all; then the name of a command in them, and its
# arguments.
START = (
    'name=$1; shift; libraries=$0/usr/lib/$(gcc -print-multiarch); loader=$(echo "$0"/usr/lib*/ld-linux*.so.*); '
    'exec ${loader%% *} --library-path "$libraries:$libraries/nss" "$0/usr/bin/$name" "$@"'
)


class Side:
    def __init__(self, name, module, folder, newest):
        self.name, self.module, self.folder = name, module, folder
        self.newest_nss = ["sh", "-c", START, os.path.join(newest, "nss")]
        self.modules = self.write_modules("modules-" + name, "")

    def write_modules(self, name, more):
        """A directory of module configurations with this module only."""
        modules = os.path.join(self.folder, name)
        os.makedirs(modules, exist_ok=True)
        with open(os.path.join(modules, "trust.module"), "w", encoding="ascii") as file:
            file.write(f"module: {self.module}\ntrust-policy: yes\npriority: 1\n{more}")
        return modules

    def run(self, bundle, *command, fails=False):
        """Standard output of a command; its exit status must be 0, or must not be. With None it may be any, and
        standard error comes with it."""
        return self.enter(ENTER, self.modules, bundle, command, fails)

    def run_at(self, place, *command):
        """The same with a place, which is a directory, where the machine's bundle is looked for."""
        certificates = os.path.join(self.folder, "certificates-" + os.path.basename(place))
        if not os.path.isdir(certificates):
            os.mkdir(certificates)
            os.symlink(place, os.path.join(certificates, os.path.basename(BUNDLE)))
        return self.enter(ENTER_AT, self.modules, certificates, command, False)

    def run_with_paths(self, paths, *command):
        """The same with places that the configuration of the module names."""
        modules = self.write_modules("modules-with-paths-" + self.name, f"x-init-reserved: paths='{':'.join(paths)}'\n")
        return self.enter(ENTER, modules, BUNDLE, command, False)

    def enter(self, script, modules, bundle, command, fails):
        enter = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", modules, bundle]
        done = subprocess.run(
            [*enter, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", timeout=STEP_SECONDS, check=False,
        )
        if fails is not None and (done.returncode != 0) != fails:
            raise AssertionError(f"{self.name}: {command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout if fails is not None else done.stdout + done.stderr


def sides(library, folder, newest):
    found = glob.glob("/usr/lib/*/pkcs11/p11-kit-trust.so")
    assert found, "p11-kit-trust.so: install p11-kit-modules"
    return Side("windlass", os.path.abspath(library), folder, newest), Side("p11-kit", found[0], folder, newest)

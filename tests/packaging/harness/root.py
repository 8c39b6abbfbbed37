"""A minimal system in a directory on a tmpfs, and what is in it."""

import contextlib
import hashlib
import os
import pathlib
import shutil
import stat
import subprocess

# What the kernel has there, and what the package manager and its friends write for themselves. Nothing of ours goes
# there.
VOLATILE = ("proc", "sys", "dev", "tmp", "run", "var/lib/dpkg", "var/log", "var/cache/apt", "var/cache/debconf",
            "var/lib/apt", "var/cache/ldconfig", "etc/ld.so.cache", "srv/packages")


class Root:
    """The system. Programs run in it with a small, clean environment."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        # What comes before a command that is run there.
        self.enter = ["chroot", str(self.path)]

    def __truediv__(self, path):
        return self.path / path.lstrip("/")

    def run(self, *command, code=0, text=None, environment=()):
        """Runs a program in the root; it must end with `code`, or anyhow where that is None."""
        result = subprocess.run(
            [*self.enter, "/usr/bin/env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
             "DEBIAN_FRONTEND=noninteractive", *environment, *command],
            input=text, stdin=subprocess.DEVNULL if text is None else None, capture_output=True, text=True, timeout=600)
        if code is not None and result.returncode != code:
            raise AssertionError(f"{' '.join(map(str, command))} ended with {result.returncode}, not {code}:\n"
                                 f"{result.stdout}{result.stderr}")
        return result

    def quiet(self, *command):
        """Runs a program that has nothing to say on standard error."""
        result = self.run(*command)
        assert result.stderr == "", f"{' '.join(command)} said: {result.stderr}"
        return result.stdout

    def tree(self):
        """Kind, mode, owner and content of every file that a package could have touched."""
        all_of_it = {}
        for folder, folders, files in os.walk(self.path):
            inside = os.path.relpath(folder, self.path)
            for name in folders + files:
                path = os.path.normpath(os.path.join(inside, name))
                if path not in VOLATILE:
                    # In a system that runs, systemd may remove a service's private directory after it was listed.
                    with contextlib.suppress(FileNotFoundError):
                        all_of_it[path] = describe(os.path.join(folder, name))
            folders[:] = [name for name in folders if os.path.normpath(os.path.join(inside, name)) not in VOLATILE]
        return all_of_it


def describe(path):
    status = os.lstat(path)
    text = f"{stat.filemode(status.st_mode)} {status.st_uid}:{status.st_gid}"
    if stat.S_ISLNK(status.st_mode):
        return f"{text} -> {os.readlink(path)}"
    if stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            return f"{text} {hashlib.sha256(file.read()).hexdigest()}"
    return text


def assert_same(before, after):
    """Names every difference between two trees."""
    faults = [f"{path}: {before.get(path, 'not there')} -> {after.get(path, 'not there')}"
              for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]
    assert not faults, "the tree is another one:\n" + "\n".join(faults)


@contextlib.contextmanager
def mounted(kind, path, *options):
    """A mount for as long as the block lasts."""
    subprocess.run(["mount", "-t", kind, *options, kind, path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)


class Roots:
    """Makes fresh copies of base systems, by an overlay over one that was unpacked. `archives` has their names."""

    def __init__(self, folder, archives):
        self.folder = pathlib.Path(folder)
        self.archives = archives
        self.count = 0
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", folder], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.folder], check=True)

    def unpacked(self, variant):
        """The directory of a base system; unpacked when it is asked for first."""
        base = self.folder / variant
        if not base.exists():
            base.mkdir()
            subprocess.run(["tar", "--numeric-owner", "--xattrs", "-xf", self.archives[variant], "-C", base],
                           check=True)
        return base

    @contextlib.contextmanager
    def fresh(self, variant="base"):
        self.count += 1
        place = self.folder / str(self.count)
        for name in ("upper", "work", "root"):
            (place / name).mkdir(parents=True)
        options = f"lowerdir={self.unpacked(variant)},upperdir={place}/upper,workdir={place}/work"
        with mounted("overlay", place / "root", "-o", options), mounted("proc", place / "root/proc"):
            for name in ("null", "zero", "random", "urandom"):
                node = place / "root/dev" / name
                node.touch()
                subprocess.run(["mount", "--bind", f"/dev/{name}", node], check=True)
            try:
                yield Root(place / "root")
            finally:
                for name in ("null", "zero", "random", "urandom"):
                    subprocess.run(["umount", "-l", place / "root/dev" / name], check=True)
        shutil.rmtree(place)

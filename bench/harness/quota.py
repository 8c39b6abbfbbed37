"""Holds programs to a part of one core: a cgroup of its own, of version 2 (cpu.max) or 1 (cpu.cfs_quota_us)."""

import os
import pathlib

# 7 % of a core: what a function with 128 MB gets. Short periods, so that a measured time is not a number of periods.
QUOTA_US, PERIOD_US = 1400, 20_000
ENTER = 'echo $$ > "$0"/cgroup.procs && exec "$@"'


class Quota:
    """A context manager. `argv(…)` is a command that runs held; `kind` says how, or is None: nothing is held here."""

    def __init__(self):
        self.folder = self.kind = None

    def __enter__(self):
        for kind, mounted, files in hierarchies():
            folder = mounted / f"windlass-bench-{os.getpid()}"
            try:
                if kind == "v2" and "cpu" not in (mounted / "cgroup.subtree_control").read_text().split():
                    (mounted / "cgroup.subtree_control").write_text("+cpu")
                folder.mkdir()
                for name, value in files.items():
                    (folder / name).write_text(value)
            except OSError:
                if folder.is_dir():
                    folder.rmdir()
                continue
            self.folder, self.kind = folder, kind
            break
        return self

    def __exit__(self, *_):
        if self.folder:
            self.folder.rmdir()

    def argv(self, *argv):
        return ["/bin/sh", "-c", ENTER, self.folder, *argv] if self.folder else argv


def hierarchies():
    """(version, where it is mounted, what its files must say) of each hierarchy that may have the controller."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _, mounted, kind, options = line.split()[:4]
            if kind == "cgroup2":
                yield "v2", pathlib.Path(mounted), {"cpu.max": f"{QUOTA_US} {PERIOD_US}"}
            elif kind == "cgroup" and "cpu" in options.split(","):
                yield "v1", pathlib.Path(mounted), {"cpu.cfs_period_us": str(PERIOD_US),
                                                    "cpu.cfs_quota_us": str(QUOTA_US)}

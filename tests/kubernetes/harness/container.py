"""container.py FILE: runs one container of a pod, as FILE (JSON) says, in a mount namespace that it was started in.

The root is an overlay: the image below, a directory in memory above. Volumes are bound to their places. What the pod's
security context says of users, privileges and the root file system is done as a runtime does it.
"""

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys

PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
# capability.h: those that deploy/kubernetes names.
CAPABILITIES = {"DAC_READ_SEARCH": 2, "SYS_PTRACE": 19, "SYS_ADMIN": 21}


def main():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 9)
    asked = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    root = pathlib.Path(asked["scratch"])
    mount("-t", "tmpfs", "tmpfs", root)
    for name in ("upper", "work", "root"):
        (root / name).mkdir()
    # An image may be "DIRECTORY:ROOT": what is in DIRECTORY replaces files of ROOT.
    *layers, image = asked["image"].split(":")
    for layer in layers:
        shutil.copytree(layer, root / "upper", dirs_exist_ok=True)
    mount("-t", "overlay", "overlay", "-o",
          f"lowerdir={image},upperdir={root / 'upper'},workdir={root / 'work'}", root / "root")
    root = root / "root"
    for name in ("proc", "dev", "tmp"):
        (root / name).mkdir(exist_ok=True)
    mount("--rbind", "/proc", root / "proc")
    mount("--rbind", "/dev", root / "dev")
    for volume in asked["mounts"]:
        target = root / volume["mountPath"].lstrip("/")
        target.mkdir(parents=True, exist_ok=True)
        mount("--bind", volume["source"], target)
        if volume.get("readOnly"):
            mount("-o", "remount,bind,ro", target)
    context = asked["securityContext"]
    if context.get("readOnlyRootFilesystem"):
        mount("-o", "remount,ro", root)
    os.chroot(root)
    os.chdir("/")
    if context.get("capabilities", {}).get("drop") == ["ALL"]:
        kept = {CAPABILITIES[name] for name in context["capabilities"].get("add", [])}
        for number in set(range(64)) - kept:
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    group = context.get("runAsGroup", 0)
    os.setgroups([context["fsGroup"]] if "fsGroup" in context else [])
    os.setgid(group)
    os.setuid(context.get("runAsUser", 0))
    if context.get("allowPrivilegeEscalation") is False:
        ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.execvpe(asked["command"][0], asked["command"], asked["environment"])


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


main()

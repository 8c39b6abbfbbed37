"""Bundles that change below a long-running program in the ways of containers: a `..data` swap, a bind-mounted file that
is rewritten in place, a file replaced under its name, all equal in size and time. There is a fresh compiled store at
first, which is stale after the change, and again one after it was compiled anew."""

import os
import shutil
import subprocess

import counters
from .disk import namespace
from .lab import CLEAN, FRESH, STALE, Run

ONE = 1_700_000_000
COPY = (["cp new.pem live.pem"], ["cp old.pem live.pem"])
# name: (mounts, the bundle that programs name, lines that change it, lines that change it back)
CHANGES = {
    "..data swapped": ((), "swapped.pem", ["ln v2 ..next", "mv ..next ..data"], ["ln v1 ..next", "mv ..next ..data"]),
    "bind mount rewritten in place": (("live.pem", "mounted.pem"), "mounted.pem", *COPY),
    "rewritten in place": ((), "live.pem", *COPY),
    "replaced by rename": ((), "live.pem", ["cp new.pem spare.pem", "mv spare.pem live.pem"],
                           ["cp old.pem spare.pem", "mv spare.pem live.pem"]),
}


def run(lab):
    for name, (mounts, bundle, there, back) in CHANGES.items():
        with lab.place() as place:
            lay_out(place)
            place.bundle = place.folder / bundle
            commands = ["mount --bind " + " ".join(f"{place.folder}/{path}" for path in mounts)] if mounts else ["true"]
            still = [f"times {path}.pem {ONE} 0" for path in ("live", "v1/ca", "v2/ca")]
            steps = [*still, f"compile {bundle}", 0, *there, *still, 1, *back, *still, 2, f"compile {bundle}", 3,
                     *there, *still, 4]
            with namespace(*commands) as inside:
                judge(lab, f"{name}: driver", *(by_itself(lab, place, steps, served, inside)
                                                for served in (False, True)))
                judge(lab, f"{name}: python3", *(when_asked(lab, place, steps, served, inside)
                                                 for served in (False, True)))


def lay_out(place):
    """..data leads to v1, swapped.pem through it; mounted.pem is what a mount is put on."""
    size = max(map(len, place.content.values()))
    old, new = (content + b"\n" * (size - len(content)) for content in place.content.values())
    for version, content in (("v1", old), ("v2", new)):
        (place.folder / version).mkdir()
        (place.folder / version / "ca.pem").write_bytes(content)
    for name, content in (("old.pem", old), ("new.pem", new), ("live.pem", old), ("mounted.pem", b"")):
        (place.folder / name).write_bytes(content)
    (place.folder / "..data").symlink_to("v1")
    (place.folder / "swapped.pem").symlink_to("..data/ca.pem")


def judge(lab, label, stock, now):
    """Five contexts: old, new, old, old, new."""
    shown = stock.shown
    lab.check(f"{label} notices every change", stock.text == now.text and len(shown) == 5
              and shown[0] == shown[2] == shown[3]
              and shown[1] == shown[4] != shown[0], f"stock:\n{stock.text}\nnow:\n{now.text}")
    lab.check(f"{label} was served, and met a stale store", now.values.get(FRESH, 0) >= 2
              and now.values.get(STALE, 0) >= 1,
              now.values)


def restore(place):
    shutil.copyfile(place.folder / "old.pem", place.folder / "live.pem")  # in place: it may be mounted
    act(place, "ln v1 ..next")
    act(place, "mv ..next ..data")


def by_itself(lab, place, steps, served, inside):
    """The driver changes the files itself, between its contexts."""
    restore(place)
    command = [*inside, "env", f"--chdir={place.folder}", lab.driver, "script"]
    lines = [f"compile @ROOT@/{step[8:]}" if str(step).startswith("compile") else step for step in steps]
    run = place.run(command, served, script=place.script(*lines))
    run.shown = [[line.split(" ", 1)[1] for line in part.splitlines() if " objects " in line]
                 for part in run.text.split("ctx_new 1\n")[1:]]
    return run


def when_asked(lab, place, steps, served, inside):
    """The files change while the program waits."""
    restore(place)
    place.stores.mkdir(exist_ok=True)
    env = CLEAN | ({"LD_PRELOAD": str(lab.library), "WINDLASS_STORE": str(place.stores)} if served else {})
    with counters.page() as page:
        env |= page.variable if served else {}
        program = subprocess.Popen([*inside, "/usr/bin/python3", "-I", lab.home / "asked.py", place.bundle], env=env,
                                   text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        shown = []
        for step in steps:
            if isinstance(step, int):
                program.stdin.write("\n")
                program.stdin.flush()
                shown.append(program.stdout.readline())
            elif not step.startswith("compile"):
                act(place, step)
            elif served:
                done = place.compile(place.bundle, windlass=inside)
                assert done.returncode == 0, done
        program.communicate()
        return Run("".join(shown), page.values(), shown)


def act(place, line):
    verb, first, second, *_ = line.split()
    first, path = (place.folder / first, place.folder / second) if verb != "ln" else (first, place.folder / second)
    if verb == "cp":
        shutil.copyfile(first, path)
    elif verb == "mv":
        first.rename(path)
    elif verb == "ln":
        path.symlink_to(first)
    elif verb == "times":
        os.utime(first, (int(second), int(second)))

"""Writers that can't finish: no space, errors, kill -9 at every moment and at any, two at once. What was there before
is there afterwards, or the new one is, whole; and programs show the stock result all along."""

import contextlib
import random
import subprocess
import time

from .lab import CLEAN, FRESH, STALE

MOMENTS = 200
ENOSPC, EIO = 28, 5
TURNS, KILLED, TRIES = 30, 6, 2000  # turns with each delay; and more, until so many were killed before they had ended


def run(lab):
    with lab.place() as place:
        full(lab, place)
    with lab.place() as place:
        writer_at_every_moment(lab, place)
    with lab.place() as place:
        writers_killed(lab, place)
    with lab.place() as place:
        readers_killed(lab, place)
    with lab.place() as place:
        two_writers(lab, place)


@contextlib.contextmanager
def namespace(*commands):
    """A mount namespace in which the commands ran, as the prefix of commands that are to run there."""
    script = " && ".join([*commands, "echo ready", "read line"])
    holder = subprocess.Popen(["unshare", "-m", "--propagation", "private", "sh", "-c", script], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == "ready\n", f"cannot arrange {commands}"
        yield ["nsenter", "-t", str(holder.pid), "-m"]
    finally:
        holder.communicate("\n")


def names(place, inside=()):
    listed = subprocess.run([*inside, "ls", "-A", place.stores], capture_output=True, text=True, check=True)
    return sorted(listed.stdout.split())


def large(place):
    """A bundle whose compiled store does not fit into 64 KiB."""
    return place.content[place.bundle] + place.content[place.other] * 60


def full(lab, place):
    store, pki = place.store.name, place.content[place.bundle]
    with namespace(f"mount -t tmpfs -o size=64k,mode=755 none {place.stores}") as inside:
        command = [*inside, "env", f"--chdir={place.folder}", lab.driver, "script"]
        done = place.compile(place.bundle, windlass=inside)
        lab.check("64 KiB: a small store fits", done.returncode == 0 and names(place, inside) == [".lock", store], done)
        place.unmoved("64 KiB: the small store", lambda: None, FRESH, command=command)
        place.bundle.write_bytes(large(place))
        done = place.compile(place.bundle, windlass=inside)
        lab.check("64 KiB: a large one does not, and says so", done.returncode == 1 and "No space left" in done.stderr,
                  done)
        lab.check("64 KiB: nothing half-written is left", names(place, inside) == [".lock", store],
                  names(place, inside))
        place.unmoved("64 KiB: the small store of an earlier bundle", lambda: None, STALE, command=command)
        place.bundle.write_bytes(pki)
        done = place.compile(place.bundle, windlass=inside)
        lab.check("64 KiB: the small one again", done.returncode == 0, done)
        subprocess.run([*inside, "sh", "-c", f"rm {place.store}; head -c 64000 /dev/zero >{place.stores}/rest"],
                       check=True)
        done = place.compile(place.bundle, windlass=inside)
        lab.check("full: not even a small one", done.returncode == 1 and names(place, inside) == [".lock", "rest"],
                  done)
        place.unmoved("full: no store", lambda: None, command=command)


def is_whole(place, *contents):
    """The store is one of these, to the byte."""
    return place.store.read_bytes() in contents


def writer_at_every_moment(lab, place):
    """Also the errors of each call that writes: first the disk is full, then it breaks."""
    second = place.content[place.bundle] + place.content[place.other]
    place.bundle.write_bytes(second)
    place.compile(place.bundle)
    new = place.store.read_bytes()
    stock = place.run([lab.driver, "script"], False, script=place.script(0)).text
    mark, failed = place.folder / "mark", place.folder / "mark.failed"
    for do, what in (("kill", "killed"), (f"fail:{ENOSPC}", "out of space"), (f"fail:{EIO}", "a failing disk")):
        bad, moments, leftovers, failures = [], 0, 0, 0
        for n in range(1, MOMENTS):
            place.put(place.compiled)  # stale by now
            mark.touch()
            failed.unlink(missing_ok=True)
            done = place.compile(place.bundle, LD_PRELOAD=str(lab.at_call), AT_CALL=str(n), AT_AFTER=str(place.stores),
                                 AT_DO=do, AT_MARK=str(mark))
            if mark.exists():
                break
            moments += 1
            failures += failed.exists()
            leftover = [name for name in names(place) if name.startswith(".new-")]
            leftovers += bool(leftover)
            if not is_whole(place, place.compiled, new) or leftover and do != "kill":
                bad.append(f"moment {n}: {names(place)} {done}")
            if done.returncode == 0 and (place.store.read_bytes() != new or failed.exists()):
                bad.append(f"moment {n}: success was claimed: {done}")
            if n % 5 == 0:
                now = place.run([lab.driver, "script"], True, script=place.script(0))
                if now.text != stock or not (now.values.get(FRESH) or now.values.get(STALE)):
                    bad.append(f"moment {n}: {now.values}\n{now.text}")
            if do == "kill" and leftover:
                place.compile(place.bundle)
                if any(name.startswith(".new-") for name in names(place)) or not is_whole(place, new):
                    bad.append(f"moment {n}: the next writer left {names(place)}")
        reached = moments > 8 and (leftovers > 2 if do == "kill" else failures > 5)
        lab.check(f"writer {what} at each of {moments} moments ({failures} calls failed, {leftovers} temporary files "
                  f"were left)",
                  not bad and reached, "\n".join(map(str, bad[:3])))


def writers_killed(lab, place):
    """At any time, with a store of some size, while programs go on."""
    r, contents = random.Random("writers"), (large(place), large(place) + place.content[place.other])
    images = []
    for content in contents:
        place.bundle.write_bytes(content)
        place.compile(place.bundle)
        images.append(place.store.read_bytes())
    bad, killed = [], 0
    for n in range(TRIES):
        if bad or n >= TURNS and killed >= KILLED:
            break
        place.bundle.write_bytes(contents[n % 2])
        time.sleep(0.11)  # else the writer only waits until the bundle is old enough
        writer = subprocess.Popen([lab.windlass, "compile", "--force", "--store", place.stores, place.bundle],
                                  env=CLEAN, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(r.uniform(0, 0.08))
        writer.kill()
        killed += writer.wait() == -9
        # Each writing has another identity in it; what follows has to be whole.
        checked = subprocess.run([lab.windlass, "compile", "--check", "--store", place.stores, place.bundle], env=CLEAN,
                                 capture_output=True, text=True)
        if checked.returncode not in (0, 5) or "unusable" in checked.stdout:
            bad.append(checked)
    done = place.compile(place.bundle)
    if done.returncode or names(place) != [".lock", place.store.name]:
        bad.append(f"the last writer: {done} {names(place)}")
    lab.check(f"{killed} writers of {len(images[0])} bytes killed at any time", not bad and killed >= KILLED,
              "\n".join(map(str, bad[:3])))
    place.unmoved("after them", lambda: None, FRESH)


def readers_killed(lab, place):
    before, killed = place.store.read_bytes(), 0
    command, script = place.programs()["driver"]
    place.run(command, True, script=script)
    for n in range(TRIES):
        if n >= TURNS and killed >= KILLED:
            break
        reader = subprocess.Popen(command, cwd=place.folder, stdout=subprocess.DEVNULL, env=CLEAN | {
            "LD_PRELOAD": str(lab.library), "WINDLASS_STORE": str(place.stores)})
        time.sleep(n % TURNS * 0.0006)
        reader.kill()
        killed += reader.wait() == -9
    lab.check(f"{killed} readers killed: the store is as it was", killed >= KILLED
              and place.store.read_bytes() == before)
    place.unmoved("after them", lambda: None, FRESH)


def two_writers(lab, place):
    """Also for the same store: all succeed, one after the other."""
    many = [place.folder / name for name in ("other.pem", "one.pem", "same.pem", "inter.pem", "relatives.pem",
                                             "comments.pem")]
    for path in (place.bundle, *many):
        path.write_bytes(path.read_bytes())
    command = [lab.windlass, "compile", "--force", "--store", place.stores, place.bundle, *many]
    usual = {"env": CLEAN, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    writers = [subprocess.Popen(command, **usual) for _ in range(6)]
    ended = [subprocess.CompletedProcess(command, stdout=writer.communicate()[0], returncode=writer.returncode)
             for writer in writers]
    # On a slow disk the others may take longer than a writer waits for them.
    ended = [subprocess.run(command, **usual) if "is locked by another writer" in done.stdout else done
             for done in ended]
    lab.check("six writers at once", not any(done.returncode for done in ended), "".join(done.stdout for done in ended))
    stores = [name for name in names(place) if name != ".lock"]
    checked = subprocess.run([lab.windlass, "compile", "--check", "--store", place.stores, place.bundle, *many],
                             env=CLEAN, capture_output=True, text=True)
    lab.check("… and all stores are fresh", len(stores) == 7 and checked.returncode == 0, checked.stdout)
    place.unmoved("after them", lambda: None, FRESH)

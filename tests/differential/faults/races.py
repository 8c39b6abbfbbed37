"""Compiled stores and bundles that change while a program reads them: at every
moment in turn, and under 64 threads and four processes."""

import os
import random
import subprocess
import threading

import builds
import counters
import store_file
from .damage import flipped
from .lab import CLEAN, DISTRUSTED, FRESH, HERE, MALFORMED, STALE, USER, write_files

MOMENTS = 60  # calls of the C library that two contexts need, with room


def run(lab):
    with lab.place() as place:
        store_at_every_moment(lab, place)
    with lab.place() as place:
        bundle_at_every_moment(lab, place)
    with lab.place() as place:
        storm(lab, place)


def at_call(place, n, do, slots=(0, 1)):
    """(whether the moment came, the run): the driver, with something happening at its nth call after the first that
    names the bundle."""
    mark = place.folder / "mark"
    mark.touch()
    run = place.run([place.lab.driver, "script"], True, script=place.script(*slots), preload=[place.lab.at_call],
                    AT_CALL=str(n), AT_AFTER="roots.pem", AT_DO=do, AT_MARK=str(mark))
    return not mark.exists(), run


def store_at_every_moment(lab, place):
    """The bundle stays, so every program has to show the stock result."""
    stock = place.run([lab.driver, "script"], False, script=place.script(0, 1)).text
    spare, ways = place.folder / "spare", {}
    half = place.honest[:len(place.honest) // 2]
    ways["emptied in place"] = (b"", f"truncate:{place.store}")
    for name, content in {"nonsense": b"nonsense" * 999, "half of itself": half,
                          "a damaged lie": flipped(place.lie, -1),
                          "an older store": place.stale}.items():
        ways[f"replaced by {name}"] = (content, f"rename:{spare}:{place.store}")
        ways[f"overwritten with {name}"] = (content, f"copy:{spare}:{place.store}")
    for what, (content, do) in ways.items():
        bad, moments, seen = [], 0, set()
        for n in range(1, MOMENTS):
            place.put(place.honest)
            spare.write_bytes(content)
            came, now = at_call(place, n, do)
            if not came:
                break
            moments += 1
            seen |= {name for name in (FRESH, STALE, MALFORMED) if now.values.get(name)}
            if now.text != stock:
                bad.append(f"at moment {n}: {now.values}\n{now.text}")
        lab.check(f"store {what}, at each of {moments} moments", not bad and moments > 8 and FRESH in seen
                  and len(seen) > 1,
                  f"moments {moments}, seen {seen}\n" + "\n".join(bad[:2]))


def bundle_at_every_moment(lab, place):
    """Each context has one bundle or the other, whole, and whatever begins after the change has the new one. Size and
    modification time are the same."""
    size = max(map(len, place.content.values()))
    old, new = (content + b"\n" * (size - len(content)) for content in place.content.values())
    fresh = place.folder / "fresh.pem"
    outcome = {}
    for content in (old, new):
        write(place.bundle, content)
        outcome[content] = contexts(place.run([lab.driver, "script"], False, script=place.script(0)).text)[0]
    write(place.bundle, old)
    place.compile(place.bundle)
    moments = next(n for n in range(1, MOMENTS) if not at_call(place, n, "nothing")[0]) - 1
    for way in ("rename", "copy"):
        bad, firsts = [], set()
        for n in range(1, moments + 1):
            write(place.bundle, old)
            place.compile(place.bundle)
            write(fresh, new)
            _, now = at_call(place, n, f"{way}:{fresh}:{place.bundle}", slots=(0, 1, 2))
            shown = contexts(now.text)
            firsts.add(shown[0])
            turned = [[outcome[old]] * k + [outcome[new]] * (3 - k) for k in range(3)]
            if shown not in turned:
                bad.append(f"at moment {n}: {now.values}\n{now.text}")
        lab.check(f"bundle changed by {way}, equal in size and time, at each of {moments} moments",
                  not bad and moments > 8 and firsts == set(outcome.values()), "\n".join(bad[:2]))


def contexts(text):
    """What each context showed, without line numbers."""
    parts = "\n".join(line.split(" ", 1)[-1] for line in text.splitlines()).split("ctx_new 1\n")[1:]
    return [part.split("mapped ")[0] for part in parts]


def write(path, content):
    path.write_bytes(content)
    os.utime(path, ns=(1_700_000_000 * 10 ** 9,) * 2)


COPIES = 128
BATCHES = 20  # at most; how often a reader meets which store is the scheduler's choice


def storm(lab, place):
    """Good, old, damaged, foreign and missing stores take each other's place, while contexts are made all the time:
    until stores of every kind were met often."""
    program = builds.compile_c([HERE / "process" / "served.c"], builds.WORK / "bin" / "served-system", "system")
    pki, bundle = lab.pki, place.bundle
    # Files of their own: other names of one file would not be read again.
    copies = [place.folder / "copies" / f"{n}.pem" for n in range(COPIES)]
    write_files(place.folder, {"leaf-a.pem": pki.pem("leaf0"), "leaf-b.pem": pki.pem("leaf5")})
    copies[0].parent.mkdir()
    for path in copies:
        write(path, place.content[place.other])
    place.compile(*copies)
    stores = {path: place.stores / store_file.name_of(path) for path in copies}
    stale = {path: store.read_bytes() for path, store in stores.items()}
    for path in copies:
        path.write_bytes(place.content[bundle])
    place.compile(*copies)
    good = {path: store.read_bytes() for path, store in stores.items()}
    lies = {path: store_file.claiming(content, path) for path, content in stale.items()}
    stop = threading.Event()
    swapper = threading.Thread(target=swap, args=(place, stores, good, stale, lies, stop), daemon=True)
    swapper.start()
    with counters.page() as page:
        env = CLEAN | page.variable | {"LD_PRELOAD": str(lab.library), "WINDLASS_STORE": str(place.stores)}
        wanted = (FRESH, STALE, MALFORMED, DISTRUSTED)
        met, failed, said, batches = False, False, [], 0
        while not met and not failed and batches < BATCHES:
            running = [subprocess.Popen([program, place.folder, str(threads), str(rounds), "6"], env=env, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                       for threads, rounds in ((64, 12), (4, 150), (4, 150), (1, 500))]
            said += [process.communicate()[0] for process in running]
            failed = any(process.returncode for process in running)
            values = page.values()
            met = all(values.get(name, 0) > 10 for name in wanted)
            batches += 1
        stop.set()
        swapper.join()
    lab.check("64 threads and 3 more processes while their stores are swapped", not failed, "".join(said))
    lab.check("… and they met stores of every kind", met, values)
    print("     " + ", ".join(f"{name} {values.get(name, 0)}" for name in wanted) + f", batches {batches}")


def swap(place, stores, good, stale, lies, stop):
    r = random.Random("swap")
    spare = place.folder / "spare"
    while not stop.is_set():
        path = r.choice(list(stores))
        store, kind = stores[path], r.randrange(10)
        spare.unlink(missing_ok=True)
        if kind == 0:
            store.unlink(missing_ok=True)
            continue
        if kind == 1:  # not by rename, as a careless administrator would
            store.write_bytes(flipped(lies[path], r.randrange(40, len(lies[path]))))
            continue
        if kind == 2 and store.exists():
            os.truncate(store, r.randrange(len(good[path])))
            continue
        lie = lies[path]
        content = {3: stale[path], 4: lie, 5: lie, 6: flipped(lie, r.randrange(len(lie))),
                   7: lie[:r.randrange(len(lie))]}.get(kind, good[path])
        spare.write_bytes(content)
        if kind == 4:
            os.chown(spare, USER, USER)
        if kind == 5:
            spare.chmod(0o666)
        spare.rename(store)

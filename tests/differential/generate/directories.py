"""Hashed directories whose files were loaded before in the process: several certificates of a hash, links, other kinds
of files, other lookups before and behind, and everything that changes between two searches."""

import random

from .forge import cert_pem, crl_pem, trusted_pem

LEAVES = ("leaf0", "leaf1", "leaf2", "leaf_twin", "leaf5")


def cases(pki):
    ref, files = pki.ref, pki.files()
    h = [pki.hash_of(f"Root {n}") for n in range(6)]
    files.update(directories(pki, h))
    everything = [f"verify 0 {ref(leaf)}" for leaf in LEAVES]

    def fresh(*places):
        return ["store 0", *(f"locations 0 - {place}" for place in places)]

    # Every directory, and every way to ask. The second and third store find what the first has loaded.
    lines = []
    for places in PLACES:
        for ask in ([f"verify 0 {ref('leaf0')}"], [f"subject 0 {ref('r0')}"], [f"object 0 {ref('r0')}"],
                    [f"issuer 0 {ref('leaf0')}"], [f"errno 0 {ref('r0')}", f"errno 0 {ref('r1')}"],
                    [f"verify 0 {ref('leaf0')} flags=4", f"crls_of 0 {ref('r0')}"], everything, everything[::-1]):
            for _ in range(3):
                lines += [*fresh(*places), *ask, f"subject 0 {ref('r0')}", "objects 0"]
    yield "asked-again", files, pki.start() + lines, False, "*"

    # What else the store has: files before and behind, certificates, CRLs, an enumeration in the middle.
    lines = []
    others = ("locations 0 roots.pem -", "locations 0 other.pem -", "locations 0 relatives.pem -",
              f"add 0 {ref('twin')}", f"add 0 {ref('r5')}", "add_crl 0 0 0", "locations 0 with-crl.pem -", "objects 0",
              f"subject 0 {ref('r1')}")
    for places in (("plain",), ("several",), ("dir",), ("plain", "dir")):
        for other in others:
            for at in range(len(places) + 2):
                steps = fresh(*places)[1:]
                steps.insert(min(at, len(steps)), other)
                late = [other] if at == len(places) + 1 else []
                for _ in range(2):
                    lines += ["store 0", *steps, everything[0], *late, *everything[1:], everything[0], "objects 0"]
    yield "among-others", files, pki.start() + lines, False, "*"

    # The program's own lookups, asked before or behind, that add what they know or do not.
    lines = []
    for places in (("plain",), ("several",), ("twins",)):
        for label in ("r0", "twin", "cross", "r5"):
            for adds in (0, 1):
                for at in (1, 2):
                    steps = fresh(*places)
                    steps.insert(at, f"custom 0 {ref(label)} {adds}")
                    for _ in range(2):
                        lines += [*steps, *everything, f"object 0 {ref('r0')}", f"subject 0 {ref('r0')}", "objects 0"]
    yield "own-lookups", files, pki.start() + lines, False, "*"

    # The lookup of directories asked by the program itself, for what memory has and for what it has not.
    lines, labels = [], ("r0", "r1", "r5", "twin")
    for places in PLACES:
        for before in ([], everything, [f"add 0 {ref('twin')}"], ["locations 0 roots.pem -"], ["objects 0"]):
            for _ in range(2):
                for at in range(2):
                    own = [f"ask 0 {ref(label)}" for label in labels]
                    lines += [*fresh(*places), "lookup 0 0 dir", *before, *own[at:], f"ask 0 {ref('r0')}",
                              f"ask 0 {ref('r1')} {ref('r0')} {ref('r2')} {ref('r0')}", f"subject 0 {ref('r0')}",
                              *everything, "objects 0"]
    yield "asked-directly", files, pki.start() + lines, False, "*"

    # Directories that come in front of all others by the method's own function, or in place of them.
    lines = []
    for steps in (["meth_ctrl 0 turned", "ctrl 0 dir plain 1"], ["ctrl 0 dir plain 1", "meth_ctrl 0 turned"],
                  ["turn turned", "ctrl 0 dir plain 1", "turn -"],
                  ["turn turned", "ctrl 0 dir plain 1", "turn -", "ctrl 0 dir plain 1"],
                  ["meth_ctrl 0 missing", "ctrl 0 dir plain 1"], ["meth_ctrl 0 plain", "ctrl 0 dir turned 1"]):
        for warm in ([], ["plain"], ["turned"], ["plain", "turned"]):
            for place in warm:
                lines += [*fresh(place), *everything]
            for _ in range(2):
                lines += ["store 0", "lookup 0 0 dir", *steps, *everything, f"subject 0 {ref('r0')}", "objects 0"]
    yield "added-by-the-method", files, pki.start() + lines, False, "*"

    # Files of other types, given to the lookup of directories: as DER, as nothing known, as the default.
    lines = ["env SSL_CERT_DIR plain:dir"]
    for first in ("ctrl 0 dir der 2", "ctrl 0 dir plain 2", "ctrl 0 dir plain 1", "ctrl 0 dir plain:der 2",
                  "ctrl 0 dir - 3", "ctrl 0 dir plain 7", "ctrl 0 dir % 1", "ctrl 0 dir - 1", "ctrl 0 dir :plain 1"):
        for second in ("ctrl 0 dir plain 1", "ctrl 0 dir der 2", "ctrl 0 dir several 1", "ctrl 0 dir - 3"):
            for _ in range(2):
                lines += ["store 0", "lookup 0 0 dir", first, second, *everything, f"errno 0 {ref('r3')}", "objects 0"]
    yield "types", files, pki.start() + lines, False, "*"

    # Errors of before are gone after an answer, and stay where there is none.
    lines = []
    for places in PLACES:
        for leaf in ("leaf0", "leaf1", "leaf2", "leaf5"):
            for mark in ([], ["keep mark"]):
                for ask in (f"verify 0 {ref(leaf)}", f"issuer 0 {ref(leaf)}", f"errno 0 {ref('r' + leaf[-1])}"):
                    lines += [*fresh(*places), "keep older_errors 3", *mark, f"keep {ask}", "keep older_errors 1"]
                    lines += ["keep pop"] if mark else []
                    lines += [ask]
    yield "errors-of-before", files, pki.start() + lines, False, "*"

    # The library context of the search is the one in which a file is parsed.
    lines = []
    for which in ("none", "new", "global", "default"):
        lines.append(f"libctx {which}")
        for query in ("-", "provider=default", "fips=yes", "%"):
            lines.append(f"propq {query}")
            for places in (("plain",), ("several",)):
                lines += [*fresh(*places), f"verify_ex 0 {ref('leaf0')}", f"verify 0 {ref('leaf1')}", "lookup 0 0 dir",
                          f"ask_ex 0 {ref('r2')}", f"ask_ex 0 {ref('r0')}", f"ask 0 {ref('r3')}", "objects 0"]
    yield "library-contexts-of-searches", files, pki.start() + lines, False, "system,3*,4*"

    for seed in range(24):
        yield f"walk-{seed:02}", files, pki.start() + walk(pki, h, random.Random(f"directories {seed}")), True, "*"


PLACES = [("plain",), ("several",), ("twins",), ("dir",), ("strays",), ("gaps",), ("links",), ("odd",), ("crldir",),
          ("missing",), ("plain", "twins"), ("twins", "plain"), ("crldir", "plain"), ("links", "several"),
          ("missing:twins:plain",), ("plain:plain:twins", "plain"), ("@ROOT@/plain",), ("./plain/",), ("odd", "plain")]


def directories(pki, h):
    """More than pki.py has: one certificate a hash, several of a subject, links and other things in their places."""
    crl = crl_pem(pki.crls[0]).encode()
    trusted = trusted_pem(pki.der["r2"], ("client",), ("server",), "alias 2").encode()
    made = {f"plain/{h[n]}.0": pki.pem(f"r{n}") for n in (0, 1, 2, 5)}
    made.update({f"der/{h[n]}.0": pki.der[f"r{n}"] for n in (0, 1, 5)})
    made.update({
        # Another certificate of a subject, and nothing else.
        f"turned/{h[0]}.0": pki.pem("twin"),
        # Of one subject, of others, twice the same, and none of the subject that is asked for.
        f"several/{h[0]}.0": pki.pem("twin", "r0", "renewed"), f"several/{h[1]}.0": pki.pem("r5", "r1", "r0"),
        f"several/{h[2]}.0": pki.pem("r2", "r2"), f"several/{h[5]}.0": pki.pem("r4"),
        f"twins/{h[0]}.0": pki.pem("twin"), f"twins/{h[0]}.1": pki.pem("r0"), f"twins/{h[0]}.2": pki.pem("twin"),
        f"twins/{h[1]}.0": pki.pem("r1"), f"twins/{h[1]}.1": pki.pem("r1"),
        # The file behind the last one is what counts as none: a broken link, a directory, an empty file, a loop.
        f"links/{h[0]}.0": f"../plain/{h[0]}.0", f"links/{h[0]}.1": "nothing", f"links/{h[0]}.2": pki.pem("twin"),
        f"links/{h[1]}.0": f"../plain/{h[1]}.0", f"links/{h[1]}.1": f"{h[1]}.1", f"links/{h[2]}.0": "nothing",
        f"links/{h[5]}.0": f"../plain/{h[5]}.0", f"links/{h[5]}.2": pki.pem("r4"),
        f"odd/{h[0]}.0": pki.pem("r0"), f"odd/{h[0]}.1": None, f"odd/{h[1]}.0": pki.pem("r1"), f"odd/{h[1]}.1": b"",
        f"odd/{h[1]}.r0": crl, f"odd/{h[2]}.0": trusted, f"odd/{h[2]}.1": pki.pem("r2"), f"odd/{h[5]}.0": None,
        f"odd/{h[3]}.0": pki.pem("r3") + crl, f"odd/{h[4]}.0": pki.pem("r4") + b"-----BEGIN CERTIFICATE-----\n",
    })
    # Which content a random walk puts into a place.
    made.update({f"content/{name}": content for name, content in (
        ("none", b""), ("crl", crl), ("trusted", trusted), ("cut", pki.pem("r1")[:300]), ("text", b"no certificate\n"),
        ("r0", pki.pem("r0")), ("twin", pki.pem("twin")), ("r0-twin", pki.pem("r0", "twin")), ("r1", pki.pem("r1")),
        ("twin-r0", pki.pem("twin", "r0")), ("r5", pki.pem("r5")), ("r1-r5", pki.pem("r1", "r5")),
        ("renewed", pki.pem("renewed")), ("commented", b"# Root\n" + cert_pem(pki.der["r0"]).encode() + b"\n"))})
    return made


CONTENTS = ("none", "crl", "trusted", "cut", "text", "r0", "twin", "r0-twin", "r1", "twin-r0", "r5", "r1-r5", "renewed",
            "commented", "r0", "r1", "r5", "r0", "r1", "r5")


def walk(pki, h, chance):
    """Searches in four stores while the files of two directories come, go and change."""
    ref = pki.ref
    lines, there = ["mkdir live-a", "mkdir live-b"], set()
    places = [f"live-{d}/{h[n]}.{k}" for d in "ab" for n in (0, 1, 5) for k in (0, 0, 1, 2)]

    def change():
        place, how = chance.choice(places), chance.random()
        if place in there and how < 0.35:
            there.discard(place)
            return [f"rm {place}"]
        if place in there and how < 0.5:
            # Equal in size or not, the times are those of before.
            return [f"cp content/{chance.choice(CONTENTS)} fresh", f"times fresh 1700000000 {chance.randrange(3)}",
                    f"mv fresh {place}"]
        fresh = place not in there
        there.add(place)
        if fresh and how > 0.85:
            return [f"ln {chance.choice(('nothing', '../content/r0', '../content/twin', '../content/r1'))} {place}"]
        return [f"cp content/{chance.choice(CONTENTS)} fresh", f"mv fresh {place}"]

    def search(slot):
        leaf, root = chance.choice(LEAVES), chance.choice(("r0", "r1", "r5"))
        return chance.choice(([f"verify {slot} {ref(leaf)}"], [f"verify {slot} {ref(leaf)}"],
                              [f"verify {slot} {ref(leaf)}"], [f"object {slot} {ref(root)}"],
                              [f"issuer {slot} {ref(leaf)}"], [f"errno {slot} {ref(root)}"],
                              [f"subject {slot} {ref(root)}"], [f"verify {slot} {ref(leaf)} flags=4"],
                              ["keep older_errors 2", f"verify {slot} {ref(leaf)}"],
                              [f"lookup 0 {slot} dir", f"ask 0 {ref(root)} {ref(chance.choice(('r0', 'r1', 'r5')))}"]))

    def begin(slot):
        steps = [f"locations {slot} - {place}" for place in chance.choice(
            (("live-a",), ("live-a",), ("live-a",), ("live-a", "live-b"), ("live-b:live-a",)))]
        if chance.random() < 0.4:
            steps.insert(chance.randrange(len(steps) + 1), chance.choice(
                (f"locations {slot} one.pem -", f"locations {slot} roots.pem -", f"add {slot} {ref('twin')}",
                 f"add {slot} {ref('r2')}", f"add_crl {slot} 0 0", f"custom {slot} {ref('twin')} 1",
                 f"add {slot} {ref('r5')}")))
        return [f"store {slot}", *steps]

    for slot in range(4):
        lines += begin(slot)
    for place in places[::2]:
        if place not in there:
            there.add(place)
            lines += [f"cp content/{chance.choice(CONTENTS)} {place}"]
    for _ in range(110):
        slot, what = chance.randrange(4), chance.random()
        if what < 0.22:
            lines += change()
        elif what < 0.42:
            lines += begin(slot)
        elif what < 0.47:
            lines += [f"objects {slot}", *begin(slot)]
        else:
            lines += search(slot)
    return lines + [f"objects {slot}" for slot in range(4)] + ["descriptors"]

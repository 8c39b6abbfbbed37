"""Damaged files: truncated, extended, and flipped at each class of offsets."""

import random

import store_file
from .lab import FRESH, MALFORMED, STALE

HEADER = {"magic": 0, "version": 8, "header length": 12, "length": 16, "checksum": 24, "last byte of the checksum": 39,
          "kind": 40, "believed": 44, "anchors": 48, "files": 52, "source bytes": 56}
ALL = ("driver", "python3", "gnutls")


def run(lab):
    with lab.place() as place:
        believed(place)
        lengths(place)
        flips(place)
        other_sources(place)
        recomputed(lab, place)


def believed(place):
    for program in ALL:
        place.unmoved("the store as compiled", lambda: place.put(place.honest), FRESH, (program,))
        place.moved("a lie that nothing gives away", lambda: place.put(place.lie), program)
    place.unmoved("the store of an earlier content", lambda: place.put(place.stale), STALE, ALL)


def lengths(place):
    whole = len(place.lie)
    ends = {offset for offset, _ in store_file.sections(place.lie).values()}
    for length in sorted({0, 1, 7, 8, 11, 39, 40, 63, store_file.HEADER - 1, *ends, whole - 1}):
        programs = ALL if length in (0, whole - 1) else ALL[:1]
        place.unmoved(f"truncated to {length} of {whole} bytes", lambda: place.put(place.lie[:length]), MALFORMED,
                      programs)
    for more in (b"\0", b"x" * 4096):
        place.unmoved(f"{len(more)} bytes too long", lambda: place.put(place.lie + more), MALFORMED)
    place.unmoved("zeros instead of the second half",
                  lambda: place.put(place.lie[:whole // 2] + bytes(whole - whole // 2)), MALFORMED)


def flips(place):
    classes = dict(HEADER)
    for n, (name, (offset, length)) in enumerate(store_file.sections(place.lie).items()):
        classes |= {f"offset of {name} in the table": store_file.TABLE + 16 * n,
                    f"length of {name} in the table": store_file.TABLE + 16 * n + 8}
        if length:
            classes |= {f"first byte of {name}": offset, f"middle of {name}": offset + length // 2,
                        f"last byte of {name}": offset + length - 1}
    for name, offset in classes.items():
        place.unmoved(f"flipped: {name}", lambda: place.put(flipped(place.lie, offset)), MALFORMED)
    for name in ("magic", "checksum", "middle of state", "middle of der", "last byte of der"):
        place.unmoved(f"flipped: {name}", lambda: place.put(flipped(place.lie, classes[name])), MALFORMED, ALL[1:])


def flipped(content, offset, bit=0):
    changed = bytearray(content)
    changed[offset] ^= 1 << bit
    return bytes(changed)


def other_sources(place):
    """A good store under another's name."""
    place.compile(place.other)
    other = (place.stores / store_file.name_of(place.other)).read_bytes()
    place.unmoved("the store of another path under this one's name", lambda: place.put(other), MALFORMED)
    for what, content in (("a PEM file", place.content[place.bundle]), ("text", b"hello\n"),
                          ("a program", place.lab.driver.read_bytes())):
        place.unmoved(f"{what} under the store's name", lambda: place.put(content), MALFORMED)


def recomputed(lab, place):
    """With a checksum that fits, only whoever may write there can have made it. It need not be harmless, but no
    program may crash or hang over it."""
    r = random.Random("recomputed")
    bad, runs = [], 0
    for name, (offset, length) in {"header": (8, store_file.HEADER - 8), **store_file.sections(place.honest)}.items():
        for _ in range(6 if name == "header" else 3 if length else 0):
            changed = bytearray(place.honest)
            for _ in range(r.choice((1, 1, 8))):
                at = offset + r.randrange(length)
                changed[at] = r.choice((0, 0xff, 0x7f, changed[at] ^ 1 << r.randrange(8)))
            place.put(store_file.with_checksum(changed))
            now = place.run([lab.driver, "script"], True, script=place.script(0, 1))
            runs += 1
            if not now.text.endswith("exit 0\n"):
                bad.append(f"{name}: {now.text[-300:]}")
    lab.check(f"malformed behind a right checksum: {runs} programs ended as they should", not bad, "\n".join(bad))

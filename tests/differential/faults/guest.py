"""A guest in the process: nothing open, nothing mapped, and whatever happens to the store file afterwards happens to
nobody who was served from it."""

import shutil

from .lab import FRESH

BOTH = ("driver", "python3")


def run(lab):
    with lab.place() as place:
        # Both programs say how many descriptors are open and whether a store is mapped: as many, and none, as stock.
        place.unmoved("descriptors and mappings", lambda: place.put(place.honest), FRESH, BOTH)
        after(lab, place)
        many(lab, place)


def after(lab, place):
    """Loaded but not looked at: the certificates are still only bytes of the store when the file changes."""
    load = "ctx 0\nctx_locations 0 @BUNDLE@ -\nctx_store 0 0\n"
    look = "".join(f"verify 0 {lab.pki.ref(leaf)}\n" for leaf in lab.pki.order if leaf.startswith("leaf"))
    look += f"subject 0 {lab.pki.ref('r0')}\nsubject 0 {lab.pki.ref('r3')}\nobjects 0\n"
    ways = {"truncated to nothing": "truncate 0 @STORE@", "truncated to a page": "truncate 4096 @STORE@",
            "removed": "rm @STORE@", "overwritten": "cp all.pem @STORE@",
            "made unreadable": "chmod 000 @STORE@"}
    for what, line in ways.items():
        script = place.script(load, line, look, 1)
        place.unmoved(f"store {what} while it is in use", lambda: place.put(place.honest), FRESH, script=script,
                      absent=())
        turned = place.script(load, look, line, look, 1)
        place.unmoved(f"store {what} once it was used", lambda: place.put(place.honest), FRESH, script=turned,
                      absent=())


def many(lab, place):
    """Each name is read from its own compiled store: a descriptor lost at each would show."""
    copies = [f"copy-{n}.pem" for n in range(40)]  # other names of one file would not be read again
    for copy in copies:
        shutil.copy(place.bundle, place.folder / copy)
    script = place.script(*(f"store 0\nlocations 0 @ROOT@/{copy} -" for copy in copies), "objects 0")

    def arrange():
        place.put(place.honest)
        place.compile(*(place.folder / copy for copy in copies))

    stock, now = place.both(arrange, script=script)
    lab.check("forty sources from forty stores: no descriptor is left", stock.text == now.text
              and now.values.get(FRESH) == len(copies), f"{now.values}\nstock:\n{stock.text}\nnow:\n{now.text}")

"""Sources that change between a program's calls, and names that mean another
file after a change of directory, link or identity.

The `compile` lines do something in run.py --compiled only: what changes then
has a compiled store that was fresh until it changed."""

from .forge import crl_pem


def cases(pki):
    ref = pki.ref
    files = pki.files()
    h0, h1, h2, h3, h4, h5 = (pki.hash_of(f"Root {n}") for n in range(6))
    files.update({
        "r0.pem": pki.pem("r0"), "r2.pem": pki.pem("r2"), "r5.pem": pki.pem("r5"),
        "swap-a.pem": pki.pem("r0", "r1"), "swap-b.pem": pki.pem("r1", "r0"),
        "v1/ca.pem": pki.pem("r0"), "v2/ca.pem": pki.pem("r1"), "..data": "v1",
        "ca.pem": "..data/ca.pem", "new-crl.pem": crl_pem(pki.crls[0]).encode(),
    })
    judge = [f"verify 0 {ref(leaf)}" for leaf in ("leaf0", "leaf1", "leaf2", "leaf5")]

    def load(slot, path="live.pem"):
        return [f"store {slot}", f"locations {slot} {path} -"]

    def on(slot, lines):
        return [line.replace(" 0 ", f" {slot} ", 1) for line in lines]

    # One file after another under one name: how it changes, then a new store and the old one.
    ways = {
        "rewritten": ["cp other.pem live.pem"],
        "renamed": ["cp other.pem fresh.pem", "mv fresh.pem live.pem"],
        "extended": ["cat r5.pem live.pem"],
        "shortened": ["cp r0.pem live.pem"],
        "truncated": ["truncate 300 live.pem"],
        "emptied": ["truncate 0 live.pem"],
        "removed": ["rm live.pem"],
        "broken": ["cat broken.pem live.pem"],
        "directory": ["rm live.pem", "mkdir live.pem"],
        "dangling": ["rm live.pem", "ln nothing.pem live.pem"],
        "linked": ["rm live.pem", "ln r5.pem live.pem"],
        "loop": ["rm live.pem", "ln live.pem live.pem"],
        "crl-added": ["cat new-crl.pem live.pem"],
        "trusted": ["cp trusted.pem live.pem"],
        "same-size": ["cp swap-b.pem live.pem"],
        "unreadable": ["chmod 000 live.pem", "as 65534"],
    }
    lines = []
    for how in ways.values():
        for settled in (False, True):
            lines += ["cp swap-a.pem live.pem"]
            # An old file is believed by its times, a young one is not.
            lines += ["times live.pem 1700000000 5"] if settled else []
            lines += ["compile live.pem"]
            lines += load(0) + judge + load(1) + on(1, judge) + how
            lines += ["times live.pem 1700000000 5"] if settled else []
            lines += load(2) + on(2, judge) + judge + load(3) + ["objects 3", "objects 0", "objects 1"]
            lines += ["ca_file 0 live.pem", "as 0", *load(4), "objects 4", "chmod 644 live.pem"]
            lines += ["rm live.pem"] if how[-1] != "mkdir live.pem" else ["mv live.pem aside-1"]
            lines += ["cp swap-a.pem live.pem", *load(5), *on(5, judge), "rm live.pem"]
            if how[-1] == "mkdir live.pem":
                lines += ["mv aside-1 aside-2"] if settled else ["mv aside-1 aside-3"]
    yield "files", files, pki.start() + lines + ["descriptors"], True, "*"

    # A replaced root, equal in size and times: the next context must refuse and accept.
    lines = []
    for n in range(12):
        a, b = (("swap-a.pem", "r5.pem"), ("r0.pem", "r2.pem"))[n % 2]
        lines += [f"cp {a} live.pem", "times live.pem 1700000000 0", "compile live.pem",
                  *load(0), *judge, f"cp {b} live.pem", "times live.pem 1700000000 0", *load(1), *on(1, judge),
                  f"cp {b} fresh.pem", "times fresh.pem 1700000000 0", "mv fresh.pem live.pem",
                  *load(2), *on(2, judge), "objects 2"]
    yield "equal-times", files, pki.start() + lines, True, "*"

    # Kubernetes: the outer link never changes.
    lines = ["compile ca.pem", *load(0, "ca.pem"), *judge]
    for version in ("v2", "v1", "v2"):
        lines += ["compile ca.pem"] if version == "v1" else []
        lines += [f"ln {version} ..next", "mv ..next ..data", *load(1, "ca.pem"), *on(1, judge), *judge]
    yield "swapped-links", files, pki.start() + lines, True, "*"

    # A hashed directory is read when a subject is asked for, and only then.
    ask = [f"verify 0 {ref(leaf)}" for leaf in ("leaf0", "leaf1", "leaf5")]
    crl = [f"verify 0 {ref('leaf0')} flags=4", f"crls_of 0 {ref('r0')}"]
    lines = [
        "mkdir live", "store 0", "locations 0 - live", *ask, "objects 0",
        f"cp r5.pem live/{h5}.0", *ask, f"cp r0.pem live/{h0}.0", *ask, *crl,
        f"cp new-crl.pem live/{h0}.r0", *crl, "objects 0", f"rm live/{h0}.0", *ask,
        "store 1", "locations 1 - live", *on(1, ask), *on(1, crl), f"rm live/{h0}.r0",
        *on(1, crl), "store 2", "locations 2 - live", *on(2, crl), *on(2, ask),
        f"cp roots.pem live/{h1}.0", *ask, *on(2, ask), f"cp r0.pem live/{h0}.1", *on(2, ask),
        f"cp other.pem live/{h0}.0", *on(2, ask), "store 3", "locations 3 - live", *on(3, ask),
        "objects 3", f"ln nowhere live/{h2}.0", f"cp r2.pem live/{h2}.1",
        f"verify 3 {ref('leaf2')}", f"rm live/{h2}.0", f"verify 3 {ref('leaf2')}",
        f"mv live/{h2}.1 live/{h2}.0", f"verify 3 {ref('leaf2')}", "objects 3",
        f"chmod 000 live/{h1}.0", "store 4", "locations 4 - live", "as 65534", *on(4, ask),
        "as 0", *on(4, ask), f"chmod 644 live/{h1}.0", "mv live gone", *on(4, ask),
        "store 5", "locations 5 - live", *on(5, ask), "mv gone live", *on(5, ask), "objects 5",
        "store 6", f"add 6 {ref('twin')}", "locations 6 - live", *on(6, ask), "objects 6",
        f"cp trusted.pem live/{h3}.0", "store 7", "locations 7 - live", f"verify 7 {ref('leaf3')}",
        f"verify 7 {ref('leaf0')}", f"cp broken.pem live/{h4}.0", f"verify 7 {ref('leaf4')}",
        "objects 7", "descriptors",
    ]
    yield "live-directory", files, pki.start() + lines, True, "*"

    # Relative names: a file is read when loaded, a directory when asked.
    files_here = dict(files)
    files_here.update({"elsewhere/roots.pem": pki.pem("r5"), f"elsewhere/dir/{h0}.0": pki.pem("r0"),
                       f"elsewhere/dir/{h5}.0": pki.pem("r5"), "elsewhere/all.pem": b""})
    lines = []
    for place in ("roots.pem -", "- dir", "roots.pem dir", "@ROOT@/roots.pem -", "- @ROOT@/dir"):
        lines += ["store 0", f"locations 0 {place}", f"verify 0 {ref('leaf0')}", "cd elsewhere", *judge,
                  "store 1", f"locations 1 {place}", *on(1, judge), "cd ..", *on(1, judge), *judge,
                  "objects 0", "objects 1"]
    lines += ["env SSL_CERT_FILE roots.pem", "env SSL_CERT_DIR dir", "store 0", "default 0",
              "cd elsewhere", *judge, "store 1", "default 1", "env SSL_CERT_FILE -",
              "env SSL_CERT_DIR -", "cd ..", *on(1, judge), "objects 0", "objects 1", *judge]
    yield "chdir", files_here, pki.start() + lines, True, "*"

    # After chroot the same names are other files, or none.
    files_jail = dict(files)
    files_jail.update({"jail/roots.pem": pki.pem("r5"), f"jail/dir/{h5}.0": pki.pem("r5"),
                       "jail/tmp": None})
    for place in ("roots.pem -", "- dir", "roots.pem dir"):
        lines = ["store 0", f"locations 0 {place}", "store 1", f"locations 1 {place}",
                 "store 2", f"locations 2 {place}", f"verify 0 {ref('leaf0')}", "objects 2",
                 "root jail", *judge, *on(1, judge), *on(2, judge), "store 3",
                 f"locations 3 {place}", *on(3, judge), "objects 0", "objects 1", "objects 3",
                 "store 4", "default 4", "objects 4"]
        yield f"chroot-{place.count('roots')}{place.count('dir')}", files_jail, \
            pki.start() + lines, True, "*"

    # The variables are read at each call.
    lines = []
    for value in ("roots.pem", "other.pem", "%", "missing.pem", "one.pem", "@ROOT@/roots.pem"):
        for directory in ("dir", "%", "missing", "strays:dir", "@ROOT@/dir"):
            lines += ["store 0", f"env SSL_CERT_FILE {value}", f"env SSL_CERT_DIR {directory}",
                      "keep older_errors 1", "default 0", *judge, "default 0", "objects 0"]
    yield "variables", files, pki.start() + lines, True, "*"

    # Searches that memory answers ask no lookup, but they sort: the order of what comes after shows it.
    lines = []
    for first in (f"add 0 {ref('r0')}", "locations 0 relatives.pem -", "locations 0 same.pem -",
                  "locations 0 r5.pem -"):
        for second in ("locations 0 other.pem -", "locations 0 roots.pem -", f"add 0 {ref('r2')}"):
            for between in ([judge[0]], [judge[0], judge[3]], []):
                for after in ([], [judge[0]], [f"add 0 {ref('r1')}"], [judge[0], "locations 0 one.pem -"]):
                    lines += ["store 0", first, *between, second, *after, "objects 0"]
    yield "sorted-by-searches", files, pki.start() + lines, True, "*"

    # URIs of the program's own, before and after the default one: one lookup asks them all.
    lines, own = ["env SSL_CERT_FILE one.pem", "env SSL_CERT_DIR @ROOT@/dir"], "uri 0 @ROOT@/dir"
    for calls in (["default 0", own], [own, "default 0"], ["default 0", "default 0", own, "uri 0 one.pem", "default 0"],
                  ["default 0", "uri 0 missing.pem"], ["default 0", judge[1], own]):
        # Of the first a CRL is in the directory, of the others none.
        for ask in (f"crls_of 0 {ref('r0')}", f"verify 0 {ref('leaf0')} flags=4", "crls_of 0 0:1", "crls_of 0 0:2"):
            lines += ["store 0", *calls, ask, *judge, ask, "objects 0"]
    yield "uris", files, pki.start() + lines, True, "*"

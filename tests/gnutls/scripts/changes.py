"""Sources that change between a program's calls: a list has what was there when it was loaded, whenever it verifies."""


def cases(pki):
    ref, files = pki.ref, pki.files()
    files.update({"r0.pem": pki.pem("r0"), "r5.pem": pki.pem("r5"), "swap-a.pem": pki.pem("r0", "r1"),
                  "swap-b.pem": pki.pem("r1", "r0"), "v1/ca.pem": pki.pem("r0"), "v2/ca.pem": pki.pem("r1"),
                  "..data": "v1", "ca.pem": "..data/ca.pem", "elsewhere/roots.pem": pki.pem("r5")})
    leaves = ("leaf0", "leaf1", "leaf2", "leaf5")

    def judge(n):
        return [f"verify {n} {ref(leaf)}" for leaf in leaves]

    def load(n, path="live.pem", how="file"):
        return [f"list {n}", f"{how} {n} {path} - pem 2 0"]

    ways = {
        "rewritten": ["cp other.pem live.pem"], "renamed": ["cp other.pem fresh.pem", "mv fresh.pem live.pem"],
        "extended": ["cat r5.pem live.pem"], "shortened": ["cp r0.pem live.pem"],
        "truncated": ["truncate 300 live.pem"], "emptied": ["truncate 0 live.pem"], "removed": ["rm live.pem"],
        "broken": ["cat broken.pem live.pem"], "dangling": ["rm live.pem", "ln nothing.pem live.pem"],
        "linked": ["rm live.pem", "ln r5.pem live.pem"],
        "loop": ["rm live.pem", "ln live.pem live.pem"], "crl-added": ["cat crl-only.pem live.pem"],
        "no-ca": ["cp no-ca.pem live.pem"], "same-size": ["cp swap-b.pem live.pem"],
        "unreadable": ["chmod 000 live.pem", "as 65534"],
    }
    lines = []
    for how in ways.values():
        for settled in ([], ["times live.pem 1700000000 5"]):
            lines += ["cp swap-a.pem live.pem", *settled, *load(0), *judge(0), *load(1), *how, *settled, *judge(1),
                      *load(2), *judge(2), *judge(0), "next 0 0 100", "next 1 1 100", "next 2 2 100", "as 0",
                      "chmod 644 live.pem", *load(3), *judge(3), "rm live.pem", "cp swap-a.pem live.pem", *load(4),
                      *judge(4), "rm live.pem"]
    yield "files", files, pki.start() + lines + ["descriptors"], True

    # Replaced, equal in size and times: the next list must refuse and accept, the older ones not.
    lines = []
    for n in range(8):
        a, b = (("swap-a.pem", "r5.pem"), ("r0.pem", "r5.pem"))[n % 2]
        lines += [f"cp {a} live.pem", "times live.pem 1700000000 0", *load(0), *(judge(0) if n % 3 else []),
                  f"cp {b} live.pem", "times live.pem 1700000000 0", *load(1), *judge(1), f"cp {a} fresh.pem",
                  "times fresh.pem 1700000000 0", "mv fresh.pem live.pem", *load(2), *judge(2), *judge(0), "next 0 0 9",
                  "next 1 1 9", "next 2 2 9"]
    yield "equal-times", files, pki.start() + lines, True

    # Kubernetes: the outer link never changes. Relative names are those of the moment of the call.
    lines = [*load(0, "ca.pem"), *judge(0)]
    for version in ("v2", "v1", "v2"):
        lines += [f"ln {version} ..next", "mv ..next ..data", *load(1, "ca.pem"), *judge(1), *judge(0)]
    for path in ("roots.pem", "@ROOT@/roots.pem"):
        lines += [*load(0, path), "cd elsewhere", *judge(0), *load(1, path), *judge(1), "cd ..", *judge(1),
                  "next 0 0 9", "next 1 1 9"]
    yield "links", files, pki.start() + lines, True

    # A directory is read when it is loaded.
    lines = ["mkdir live", *load(0, "live", "dir"), *judge(0), "cp r5.pem live/a.pem", *judge(0),
             *load(1, "live", "dir"), *judge(1), "cp r0.pem live/b.pem", *load(2, "live", "dir"), "rm live/a.pem",
             *judge(2), *judge(1), *load(3, "live", "dir"), *judge(3),
             "cp broken.pem live/b.pem", *load(4, "live", "dir"), *judge(4), *judge(3), "ln missing live/c.pem",
             "cp roots.pem live/d.pem", *load(5, "live", "dir"), *judge(5), "next 5 5 99", "chmod 000 live/d.pem",
             "as 65534", *load(6, "live", "dir"), *judge(6), "as 0",
             *judge(6), "next 2 2 9", "next 4 4 9"]
    yield "directory", files, pki.start() + lines + ["descriptors"], True

    # After chroot the same names are other files, or none; lists of before keep what they have.
    jailed = dict(files, **{"jail/roots.pem": pki.pem("r5"), "jail/tmp": None})
    lines = [*load(0, "roots.pem"), *load(1, "roots.pem"), *judge(0), "root jail", *judge(0), *judge(1),
             *load(2, "roots.pem"), *judge(2), "next 1 1 9", "next 0 0 9", "next 2 2 9"]
    yield "chroot", jailed, pki.start() + lines, True

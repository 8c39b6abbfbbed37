"""Thousands of damaged, odd and hostile files, the same as for OpenSSL."""

from generate import mutants

PER_CASE = 150


def script(path):
    """Content seen by what is found, by one verification and as a whole."""
    return ["list 0", f"file 0 {path} - pem 2 0", "verify 0 0:14", "issuer 0 0:14 16", "next 0 0 99",
            "list 0", f"mem 0 {path} - pem 0 0", "verify 0 0:17", "by_dn 0 0:2", "next 0 0 99"]


def cases(pki, random_text=900, random_der=1500):
    files = mutants.all_files(pki, random_text, random_der)
    paths = sorted(files)
    for n in range(0, len(paths), PER_CASE):
        chosen = paths[n : n + PER_CASE]
        inside = {path: files[path] for path in chosen}
        inside["all.pem"] = pki.pem(*pki.order)
        lines = pki.start(n // PER_CASE % 2 == 1) + sum(map(script, chosen), []) + ["descriptors"]
        yield f"mutants-{n // PER_CASE:02}", inside, lines, False

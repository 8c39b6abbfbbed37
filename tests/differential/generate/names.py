"""Lists of CA names: what servers send to clients."""

import random

SOURCES = (
    "roots.pem", "other.pem", "relatives.pem", "same.pem", "with-crl.pem", "trusted.pem", "one.pem",
    "linked.pem", "comments.pem", "broken.pem", "crl-only.pem", "empty.pem", "missing.pem", "one.der",
    "key.pem", "bare", "%",
)


def cases(pki):
    r = random.Random("names")
    ref = pki.ref
    fills = ([], [ref("r1")], [ref("r0"), ref("shouted")], [ref("r5"), ref("r4"), ref("r5")],
             [ref("leaf0"), ref("r0"), ref("twin")])
    lines = []
    for source in SOURCES:
        for older in (False, True):
            keep = ["keep older_errors 2"] if older else []
            lines += [*keep, f"ca_file 0 {source}", f"names_find 0 {ref('r0')}", *keep,
                      f"ca_file 0 {source}", *keep, f"ca_file_ex 1 {source}"]
            for fill in fills:
                lines += [f"names 0 {' '.join(fill)}", *keep, f"subjects_file 0 {source}",
                          f"names_find 0 {ref('r1')}", *keep, f"subjects_file 0 other.pem",
                          *keep, f"subjects_file 0 {source}", f"names_find 0 {ref('r4')}"]
    yield "files", pki.files(), pki.start() + lines + ["descriptors"], False, "*"

    lines = []
    for source in ("dir", "strays", "gaps", "crldir", "bare", "missing", "roots.pem", "%", "flat"):
        for fill in fills:
            lines += [f"names 0 {' '.join(fill)}", f"subjects_dir 0 {source}",
                      f"names_find 0 {ref('r2')}", "keep older_errors 1", f"subjects_dir 0 {source}"]
    files = pki.files()
    files.update({"flat/a.pem": pki.pem("r0", "r1"), "flat/b.pem": pki.pem("twin", "r2"),
                  "flat/c.txt": pki.pem("r3"), "flat/d": pki.pem("r4", "r1")})
    yield "directories", files, pki.start() + lines + ["descriptors"], False, "*"

    lines = []
    for source in ("roots.pem", "other.pem", "dir", "with-crl.pem", "trusted.pem", "missing.pem",
                   "empty.pem", "one.der", "key.pem", "file:roots.pem"):
        for fill in fills[:3]:
            lines += [f"names 0 {' '.join(fill)}", f"subjects_store 0 {source}",
                      "keep older_errors 1", f"subjects_store 0 {source}"]
    yield "stores", pki.files(), pki.start() + lines + ["descriptors"], False, "*"

    # Long random sequences on one stack: what was added earlier decides what counts as new.
    lines = []
    for _ in range(60):
        lines.append(f"names 0 {' '.join(r.choice(fills))}")
        for _ in range(r.randint(2, 6)):
            lines.append(r.choice([f"subjects_file 0 {s}" for s in SOURCES[:9]]
                                  + ["subjects_dir 0 dir", "subjects_dir 0 strays",
                                     f"names_find 0 {ref('r3')}"]))
    yield "sequences", pki.files(), pki.start() + lines, False, "*"

    # What the client is told, and accepts, in a handshake.
    lines = []
    for source in ("roots.pem", "same.pem", "relatives.pem", "trusted.pem"):
        lines += ["ctx 0", "ctx 1", "identity 1 leaf0.pem leaf.key", "identity 0 leaf1.pem leaf.key",
                  f"ctx_locations 0 {source} -", f"ctx_locations 1 {source} -",
                  f"ca_file 0 {source}", "client_names 1 0", "handshake 0 1 mutual=1",
                  "handshake 0 1 mutual=1 tls12=1"]
    yield "handshakes", pki.files(), pki.start() + lines, False, "*"

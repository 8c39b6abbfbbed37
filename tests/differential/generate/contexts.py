"""Library contexts, property queries, callbacks, shared stores, older errors,
and programs that change what they got from a store."""


def cases(pki):
    ref = pki.ref
    files = pki.files()
    observe = [f"subject 0 {ref('r0')}", f"verify 0 {ref('leaf0')}", f"verify 0 {ref('leaf_twin')}",
               f"verify 0 {ref('leaf1')}", f"verify 0 {ref('leaf5')}", "objects 0"]
    loads = ("file_ex 0 roots.pem", "locations_ex 0 other.pem dir", "default_ex 0",
             "ctx_default 0", "ctx_locations 0 roots.pem -", "locations 0 roots.pem -", "default 0",
             "uri_ex 0 roots.pem")

    def prepared(load, query="-"):
        new = "ctx 0 propq" if query == "provider=default" else "ctx 0"
        return ["store 0", new, "ctx_set_store 0 0", "env SSL_CERT_FILE roots.pem",
                "env SSL_CERT_DIR dir", load]

    lines = []
    for which in ("new", "default", "global", "none"):
        lines.append(f"libctx {which}")
        for query in ("-", "provider=default", "fips=yes", "%"):
            lines.append(f"propq {query}")
            for load in loads:
                lines += prepared(load, query) + observe
    lines += ["libctx none", "propq -"]
    for load in loads:
        lines += prepared(load) + observe
    yield "library-contexts", files, pki.start() + lines, False, "system,3*,4*"

    lines = []
    for kind in ("issuer", "issued", "certs", "verify"):
        for load in ("locations 0 roots.pem -", "locations 0 relatives.pem dir", "default 0",
                     "locations 0 - dir"):
            for first in (True, False):
                steps = prepared(load)
                steps.insert(len(steps) if first else 3, f"hook 0 {kind}")
                lines += steps + observe
    yield "callbacks", files, pki.start() + lines, False, "*"

    lines = []
    for when in range(3):
        for adds in (0, 1):
            for label in ("r0", "twin", "r4", "cross"):
                steps = ["store 0", "locations 0 roots.pem -", "locations 0 - dir"]
                steps.insert(1 + when, f"custom 0 {ref(label)} {adds}")
                lines += steps + observe
    yield "custom-lookups", files, pki.start() + lines, False, "*"

    # What one program does to a certificate must stay in its store.
    lines = []
    for change in ("reject", "trust", "alias", "clear"):
        for load in ("locations 0 roots.pem -", "locations 0 - dir", "locations 0 trusted.pem -"):
            again = load.replace(" 0 ", " 1 ", 1)
            lines += ["store 0", load, "store 1", again, f"subject 0 {ref('r0')}",
                      f"change 0 {ref('r0')} {change}", f"verify 0 {ref('leaf0')} purpose=2",
                      f"verify 1 {ref('leaf0')} purpose=2", f"subject 1 {ref('r0')}",
                      "store 2", again.replace(" 1 ", " 2 ", 1), f"verify 2 {ref('leaf0')} purpose=2",
                      f"subject 2 {ref('r0')}", "objects 2", f"change 0 {ref('r0')} clear",
                      f"verify 1 {ref('leaf0')} purpose=2", "objects 0", "objects 1"]
    yield "changed-certificates", files, pki.start() + lines, False, "*"

    # Several contexts on one store, several stores on one file, in any order of freeing.
    lines = []
    for a, b in ((0, 1), (1, 0)):
        lines += ["store 5", "locations 5 roots.pem -", "ctx 0", "ctx 1", "ctx_set_store 0 5",
                  "ctx_set_store 1 5", "ctx_store 0 0", "ctx_store 1 1", *observe,
                  "ctx_locations 1 other.pem -", *observe, f"ctx_free {a}", *observe,
                  f"store_free {a}", "store_free 5", f"subject {b} {ref('r4')}", f"objects {b}",
                  f"ctx_free {b}", f"verify {b} {ref('leaf4')}"]
    for n in range(20):
        lines += [f"store {n}", f"locations {n} roots.pem -"]
    for n in range(20):
        lines += [f"verify {n} {ref('leaf0')}", f"store_free {n}"]
    yield "shared-stores", files, pki.start() + lines + ["descriptors"], False, "*"

    # Errors that were there before a call stay or go exactly as in stock.
    lines = []
    for mark in ([], ["keep mark"]):
        for load in ("locations 0 roots.pem -", "locations 0 missing.pem -", "locations 0 empty.pem -",
                     "locations 0 - dir", "locations 0 - missing", "locations 0 - -",
                     "locations 0 roots.pem dir", "locations 0 broken.pem dir", "default 0",
                     "default_ex 0", "ctx_default 0", "ctx_default_file 0", "ctx_default_dir 0",
                     "ctx_default_store 0", "ctx_locations 0 roots.pem -", "ctx_locations 0 key.pem -",
                     "ctx_file 0 roots.pem", "ctx_dir 0 dir", "file 0 crl-only.pem", "path 0 %",
                     "file 0 key.pem", "file 0 one.der", "file 0 bare", "ctx_locations 0 bare dir",
                     "uri 0 roots.pem", "file 0 -", "path 0 -", "uri 0 -", "ctx_locations 0 - -",
                     "file 0 " + "x" * 5000, "path 0 " + "y" * 5000, "path 0 ::", "path 0 dir::dir:"):
            for env in ("roots.pem", "missing.pem", "%", "empty.pem"):
                steps = prepared(load)
                steps[3] = f"env SSL_CERT_FILE {env}"
                lines += ["keep older_errors 3", *mark, *(f"keep {s}" for s in steps)]
                lines += ["keep pop"] if mark else []
                lines += [f"verify 0 {ref('leaf0')}", "keep older_errors 1",
                          f"verify 0 {ref('leaf1')}", "keep older_errors 1", f"verify 0 {ref('leaf5')}",
                          "keep older_errors 2", "objects 0"]
    yield "older-errors", files, pki.start() + lines + ["descriptors"], False, "*"

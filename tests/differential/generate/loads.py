"""Every way to load, alone, in pairs, and in random longer orders."""

import random


def steps(pki):
    """Single steps on store 0 (which is also the store of context 0)."""
    ref = pki.ref
    plain = [
        f"{verb} 0 {path}{tail}"
        for verb, tail, paths in (
            ("locations", " -", ("roots.pem", "other.pem", "relatives.pem", "same.pem",
                                 "with-crl.pem", "trusted.pem", "linked.pem", "missing.pem",
                                 "broken.pem", "comments.pem")),
            ("locations_ex", " -", ("roots.pem",)),
            ("file", "", ("roots.pem", "relatives.pem")),
            ("file_ex", "", ("roots.pem", "other.pem")),
            ("path", "", ("dir", "strays", "gaps:dir")),
            ("ctx_file", "", ("roots.pem", "missing.pem")),
            ("ctx_dir", "", ("dir",)),
        )
        for path in paths
    ]
    plain += [
        "locations 0 - dir", "locations 0 - strays", "locations 0 - gaps", "locations 0 - -",
        "locations 0 - crldir", "locations 0 roots.pem dir", "locations 0 missing.pem dir",
        "locations 0 one.pem missing", "locations 0 % -", "locations 0 - %",
        "ctx_locations 0 roots.pem -", "ctx_locations 0 other.pem dir", "ctx_locations 0 - -",
        "uri 0 roots.pem", "uri_ex 0 other.pem", "uri 0 dir", "ctx_uri 0 one.pem",
        f"add 0 {ref('r0')}", f"add 0 {ref('twin')}", f"add 0 {ref('r1')}", f"add 0 {ref('cross')}",
        f"add 0 {ref('leaf0')}", "add_crl 0 0 0", "add_crl 0 0 2",
    ]
    groups = [[text] for text in plain]
    for kind in ("default 0", "default_ex 0", "ctx_default 0", "ctx_default_file 0",
                 "ctx_default_dir 0", "ctx_default_store 0"):
        groups.append(["env SSL_CERT_FILE roots.pem", "env SSL_CERT_DIR dir", kind])
        groups.append(["env SSL_CERT_FILE %", "env SSL_CERT_DIR %", kind])
        groups.append(["env SSL_CERT_FILE missing.pem", "env SSL_CERT_DIR missing:strays", kind])
    for call in ("ctrl 0 file roots.pem pem", "ctrl 0 file one.der asn1", "ctrl 0 file - default",
                 "ctrl_ex 0 file other.pem pem", "ctrl_ex 0 file one.der asn1",
                 "ctrl_ex 0 file - default", "certfile 0 roots.pem pem", "certfile 0 one.der asn1",
                 "certfile 0 trusted.pem pem", "certfile_ex 0 roots.pem pem",
                 "crlfile 0 crl-only.pem pem", "crlfile 0 crl.der asn1",
                 "certcrlfile 0 with-crl.pem pem", "certcrlfile 0 roots.pem pem",
                 "certcrlfile_ex 0 roots.pem pem", "certfile 0 roots.pem 7",
                 "ctrl 0 file roots.pem 7", "ctrl 0 77 roots.pem pem"):
        groups.append(["env SSL_CERT_FILE roots.pem", "lookup 0 0 file", call])
    for call in ("ctrl 0 dir dir pem", "ctrl 0 dir strays:dir pem", "ctrl 0 dir dir asn1",
                 "ctrl 0 dir - default", "ctrl_ex 0 dir gaps pem", "certfile 0 one.pem pem"):
        groups.append(["env SSL_CERT_DIR dir", "lookup 0 0 dir", call])
    groups.append(["lookup 0 0 store", "ctrl 0 store roots.pem pem"])
    groups.append(["lookup 0 0 store", "ctrl 0 load-store roots.pem pem"])
    groups += [[f"custom 0 {ref('r0')} 1"], [f"custom 0 {ref('twin')} 0"], ["lookup 1 0 file"]]
    return groups


def looks(pki):
    """What is asked of the store afterwards; each is one group of lines."""
    ref = pki.ref
    verify = [f"verify 0 {ref(leaf)} flags={flags}" for leaf, flags in (
        ("leaf0", 0), ("leaf_twin", 0), ("leaf1", 0), ("leaf2", 0), ("leaf3", 0), ("leaf5", 0),
        ("revoked", 4), ("leaf0", 0x80000), ("leaf_inter", 0))]
    verify.append(f"verify 0 {ref('leaf_inter')} via={ref('inter')},{ref('cross')}")
    return [
        ["objects 0"], ["objects1 0"], ["all 0"], [f"find 0 {ref('r0')}"],
        [f"subject 0 {ref('r0')}", f"subject 0 {ref('r1')}", f"subject 0 {ref('r5')}"],
        [f"issuer 0 {ref('leaf0')}", f"issuer 0 {ref('leaf_twin')}", f"issuer 0 {ref('leaf4')}"],
        [f"object 0 {ref('r0')}", f"object 0 {ref('leaf0')}"],
        [f"crls_of 0 {ref('r0')}", f"crls_of 0 {ref('r1')}"],
        verify, verify[:4], verify[5:],
    ]


def fresh():
    return ["store 0", "ctx 0", "ctx_set_store 0 0", "env SSL_CERT_FILE -", "env SSL_CERT_DIR -"]


def batches(lines_of, size):
    for n in range(0, len(lines_of), size):
        yield n // size, [line for lines in lines_of[n : n + size] for line in lines]


def cases(pki):
    r = random.Random("loads")
    all_steps, all_looks = steps(pki), looks(pki)
    single = [fresh() + a + sum(order, [])
              for a in all_steps for order in (all_looks, all_looks[::-1])]
    pairs = []
    for a in all_steps:
        for b in r.sample(all_steps, 28):
            order = r.sample(all_looks, 4)
            pairs.append(fresh() + a + (order[0] if r.random() < 0.3 else []) + b
                         + sum(order[1:], []) + ["objects 0"])
    longer = []
    for _ in range(500):
        parts = []
        for _ in range(r.randint(3, 6)):
            parts += r.choice(all_steps)
            if r.random() < 0.4:
                parts += r.choice(all_looks)
        longer.append(fresh() + parts + sum(r.sample(all_looks, 3), []) + ["objects 0"])
    for kind, size, group in (("single", 16, single), ("pair", 90, pairs), ("longer", 30, longer)):
        for n, lines in batches(group, size):
            ending = ["store_free 0", "ctx_free 0", "descriptors"]
            yield f"{kind}-{n:03}", pki.files(), pki.start() + lines + ending, False, "*"

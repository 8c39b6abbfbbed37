"""Every way to load, alone, in pairs, and in random longer orders; and what is asked of the list afterwards."""

import random

from generate.loads import batches

from .hierarchies import GET_COPY, NO_DUPLICATES, NO_DUPLICATE_KEY, NO_TIME, USE_IN_TLS, VERIFY_CRL

PLAIN = ("roots.pem", "other.pem", "relatives.pem", "same.pem", "one.pem", "inter.pem", "linked.pem", "comments.pem")
ODD = ("missing.pem", "empty.pem", "text.pem", "broken.pem", "bad-start.pem", "bad-middle.pem", "bad-end.pem",
       "cut-start.pem", "cut-middle.pem", "cut-end.pem", "half.pem", "with-crl.pem", "crl-only.pem", "trusted.pem",
       "v1.pem", "no-ca.pem", "leaves.pem", "key-first.pem", "key.pem", "one.der", "two.der", "crl.der", "dangling.pem",
       "dir", "%", "/dev/null", "intermediate.pem")
IN_MEMORY = [path for path in ODD if path not in ("missing.pem", "dangling.pem", "dir", "%", "/dev/null")]
URLS = ("pkcs11:", "PKCS11:", "pkcs11:token=nothing", "pkcs11:token=nothing;object=none;type=cert", "pkcs11:%25zz",
        "pkcs12:")


def steps(pki):
    """Single steps on list 0; those that come first are the plain ones."""
    ref = pki.ref
    lines = [f"{verb} 0 {path} - pem {flags} 0" for verb in ("file", "mem") for path in PLAIN
             for flags in (0, USE_IN_TLS)]
    lines += [f"{verb} 0 {path} - pem {flags} 0" for verb in ("file", "mem")
              for path in ("same.pem", "relatives.pem", "roots.pem")
              for flags in (NO_DUPLICATES, NO_DUPLICATE_KEY, NO_DUPLICATE_KEY | USE_IN_TLS)]
    lines += [f"file 0 {path} - pem {USE_IN_TLS} 0" for path in ODD]
    lines += [f"mem 0 {path} - pem {USE_IN_TLS} 0" for path in IN_MEMORY]
    lines += [f"file 0 {path} - der 0 0" for path in ("one.der", "two.der", "roots.pem", "crl.der", "empty.pem",
                                                      "missing.pem")]
    lines += [f"mem 0 {path} - der 0 0" for path in ("one.der", "two.der", "roots.pem")]
    lines += [f"file 0 {path} - 7 0 0" for path in ("one.der", "roots.pem")]
    lines += [f"file 0 {url} - pem {USE_IN_TLS} 0" for url in URLS]
    lines += ["file 0 - - pem 0 0", "mem 0 - - pem 0 0", "mem 0 % % pem 0 0", "mem 0 roots.pem % pem 0 0",
              "file 0 roots.pem crl-only.pem pem 0 0", f"file 0 roots.pem crl-only.pem pem {VERIFY_CRL} 0",
              "file 0 - crl-only.pem pem 0 0", "file 0 roots.pem missing.pem pem 0 0",
              "file 0 missing.pem crl-only.pem pem 0 0",
              "file 0 roots.pem bad-crl.pem pem 0 0", f"file 0 - crls.pem pem {VERIFY_CRL} 0",
              "file 0 - crl.der der 0 0", f"file 0 - crls.pem pem {VERIFY_CRL | 32} 0",
              "mem 0 roots.pem crl-only.pem pem 2 0", "mem 0 - crls.pem pem 0 0",
              "mem 0 % crls.pem pem 0 0", "file 0 roots.pem roots.pem pem 0 0"]
    lines += [f"dir 0 {path} - pem {flags} 0" for path in ("dir", "strays", "gaps", "names", "missing", "roots.pem",
                                                           "bare", "crldir")
              for flags in (0, USE_IN_TLS)]
    lines += ["dir 0 - crldir pem 0 0", "dir 0 dir crldir pem 2 0", "dir 0 - - pem 0 0", "dir 0 dir missing pem 0 0",
              "dir 0 dir - der 0 0"]
    lines += [f"system 0 {USE_IN_TLS} 0", "system 0 0 0"]
    lines += [f"add_cas 0 {refs} {flags}" for refs in (f"{ref('r0')}", f"{ref('twin')},{ref('r1')}",
                                                       f"{ref('cross')},{ref('cross')}")
              for flags in (NO_DUPLICATES, NO_DUPLICATE_KEY | USE_IN_TLS)]
    lines += [f"add_crls 0 crls.pem {flags} 0" for flags in (0, NO_DUPLICATES, VERIFY_CRL)]
    lines += [f"named 0 {ref('leaf0')} good.test", f"named 0 {ref('alone')} good.test",
              f"remove_cas 0 {ref('r0')}", f"remove_cas 0 {ref('r5')},{ref('twin')},{ref('leaf1')}",
              "remove_mem 0 roots.pem pem", "remove_mem 0 other.pem pem", "remove_file 0 roots.pem pem",
              "remove_file 0 missing.pem pem", "remove_file 0 one.der der", "remove_file 0 text.pem pem",
              f"getissuer 0 {ref('inter')},{ref('cross')},{ref('r0')}", "getissuer 0 -", "pointer 0", "audit 1",
              "audit 0", "log 1", "log 2", "log 0", "log -"]
    return [[text] for text in lines]


def looks(pki):
    """What is asked of the list afterwards; each is one group of lines. The first four leave it as it is."""
    ref = pki.ref

    def verify(leaf, *via, **words):
        chain = ",".join(ref(label) for label in (leaf, *via))
        return f"verify 0 {chain} " + " ".join(f"{k}={v}" for k, v in words.items())

    chains = [verify("leaf0"), verify("leaf_twin"), verify("leaf1"), verify("leaf5"), verify("leaf_inter"),
              verify("leaf_inter", "inter"), verify("leaf_inter", "inter", "r0"),
              verify("leaf_inter", "inter", "cross", "r1"),
              verify("leaf0", "cross"), verify("leaf0", "expired", flags=NO_TIME), verify("alone", host="good.test"),
              verify("r0"), verify("twin"), verify("inter"), verify("leaf0", "twin", "r0"), verify("revoked"),
              verify("revoked", flags=512)]
    return [
        chains, chains[:5],
        [verify("leaf0", host="good.test", purpose="1.3.6.1.5.5.7.3.1"), verify("leaf0", host="bad.test"),
         verify("leaf0", old=1), verify("leaf_inter", "r0", "inter", flags=2048),
         verify("leaf_inter", "r0", "inter", flags=1024)],
        [f"issuer 0 {ref('leaf0')} {GET_COPY}", f"issuer 0 {ref('leaf_twin')} {GET_COPY}",
         f"issuer 0 {ref('alone')} {GET_COPY}"],
        [f"issuer 0 {ref('leaf0')} 0", f"issuer 0 {ref('leaf4')} 0", f"issuer 0 {ref('alone')} 0"],
        [f"by_dn 0 {ref('r0')}", f"by_dn 0 {ref('leaf0')}", f"by_dn 0 {ref('r5')}"],
        [f"by_key 0 {ref('r0')} {ref('r0')}", f"by_key 0 - {ref('twin')}", f"by_key 0 {ref('r1')} {ref('r0')}"],
        ["next 0 0 1000"], ["next 0 0 2", "next 0 0 1", "next_end 0", "next 0 0 500", "next 0 0 1", "next_end 0"],
        [f"verify_named 0 {ref('leaf0')} good.test", f"verify_named 0 {ref('alone')} bad.test",
         verify("alone", host="good.test")],
        [f"ocsp 0 {path} 0" for path in sorted(pki.responses())],
        [f"pkcs7 0 {path} data.txt 0" for path in ("leaf0.p7", "leaf0-bare.p7", "leaf1.p7", "alone.p7",
                                                   "alone-bare.p7")],
        ["getissuer 0 " + ",".join(map(ref, ("inter", "cross", "r0"))), verify("leaf_inter"), "getissuer 0 -",
         verify("leaf_inter")],
        ["pointer 0", "pointer 0"],
        [verify("leaf0", events=1), verify("leaf_inter", "inter", events=1), verify("leaf_twin", events=1, old=1),
         verify("leaf1", events=1)],
    ]


def cases(pki):
    r = random.Random("sources")
    files = pki.files()
    all_steps, all_looks = steps(pki), looks(pki)
    sizes = ("", "", "", " 1", " 2", " 127")

    def fresh():
        return [f"list 0{r.choice(sizes)}"]

    single = [fresh() + step + sum(order, []) for step in all_steps for order in (all_looks, all_looks[::-1])]
    pairs = []
    for first in all_steps:
        for second in r.sample(all_steps, 9):
            order = r.sample(all_looks, 4)
            pairs.append(fresh() + first + (order[0] if r.random() < 0.4 else []) + second + sum(order[1:], [])
                         + all_looks[1] + ["next 0 0 500"])
    longer = []
    for _ in range(300):
        parts = []
        for _ in range(r.randint(3, 6)):
            parts += r.choice(all_steps)
            if r.random() < 0.4:
                parts += r.choice(all_looks[:4] if r.random() < 0.6 else all_looks)
        longer.append(fresh() + parts + sum(r.sample(all_looks, 3), []) + ["next 0 0 500"])
    for kind, size, group in (("single", 16, single), ("pair", 90, pairs), ("longer", 30, longer)):
        for n, lines in batches(group, size):
            yield f"{kind}-{n:03}", files, pki.start(n % 3 == 1) + lines + ["list_free 0", "descriptors"], False

"""Handshakes: verdicts of clients, CA names that servers send, staples, and credentials that serve both sides."""

import itertools

CLIENT_TRUST = (
    ["c_file 0 roots.pem pem"], ["c_file 0 relatives.pem pem"], ["c_mem 0 roots.pem pem"], ["c_dir 0 dir pem"],
    ["c_system 0"], ["c_file 0 roots.pem pem", "c_file 0 other.pem pem"],
    ["c_file 0 other.pem pem", "c_dir 0 names pem"],
    ["c_file 0 roots.pem pem", "c_crl_file 0 crls.pem pem"], ["c_crl_mem 0 crl-only.pem pem", "c_file 0 roots.pem pem"],
    ["c_file 0 missing.pem pem"], ["c_file 0 broken.pem pem"], ["c_file 0 empty.pem pem", "c_file 0 roots.pem pem"],
    ["c_file 0 one.der der", "c_file 0 roots.pem pem"], ["c_file 0 no-ca.pem pem", "c_file 0 roots.pem pem"],
    ["c_trust 0 {twin},{r0}", "c_file 0 one.pem pem"], ["c_file 0 roots.pem pem", "c_trust 0 {inter}"],
    ["list 0 1", "file 0 roots.pem - pem 2 0", "c_set_list 0 0"],
    ["list 0", "c_set_list 0 0", "file 0 relatives.pem - pem 2 0"],
    ["c_file 0 roots.pem pem", "c_list 0 0", "remove_cas 0 {r0}"], ["c_file 0 roots.pem pem", "c_free_cas 0"],
    ["c_file 0 roots.pem pem", "c_free_ca_names 0"], ["c_file 0 roots.pem pem", "c_free_crls 0"],
    ["c_list 0 0", "c_file 0 roots.pem pem"],
    ["c_file 0 intermediate.pem pem"], [],
)
IDENTITIES = (
    ["c_identity 1 leaf0.pem leaf.key"], ["c_identity 1 leaf1.pem leaf.key"], ["c_identity 1 leaf_twin.pem leaf.key"],
    ["c_identity 1 chain.pem leaf.key"], ["c_identity 1 chain-root.pem leaf.key"],
    ["c_identity 1 leaf_inter.pem leaf.key"],
    ["c_identity 1 alone.pem leaf.key"], ["c_identity 1 revoked.pem leaf.key"],
)
STAPLES = ("by-name", "by-key", "with-cert", "delegated", "delegated-absent", "twin", "wrong-key", "revoked", "old",
           "unknown")
WAYS = ("auto", "peers", "peers2", "peers3", "late")


def cases(pki):
    yield from batches(pki, "client", 13, clients(pki))
    yield from batches(pki, "server", 10, servers(pki))


def batches(pki, kind, size, groups):
    files, groups = pki.files(), list(groups)
    for n in range(0, len(groups), size):
        ending = ["cred_free 0", "cred_free 1", "list 0", "descriptors"]
        yield f"{kind}-{n // size:02}", files, pki.start(n // size % 3 == 1) + sum(groups[n : n + size],
                                                                                   []) + ending, False


def filled(pki, lines):
    return [line.format(**{label: pki.ref(label) for label in ("r0", "twin", "inter")}) for line in lines]


def clients(pki):
    """Nobody asks for a client's certificate here, so that the lists stay as they were loaded for as long as they
    can."""
    for n, (trust, identity) in enumerate(itertools.product(CLIENT_TRUST, IDENTITIES)):
        way = WAYS[n % len(WAYS)]
        yield ["list 0", "cred 0", "cred 1", *filled(pki, trust), *identity,
               f"handshake 0 1 host=good.test client={way}",
               f"handshake 0 1 host=bad.test tls=1.2 client={WAYS[(n + 2) % len(WAYS)]}", "handshake 0 1",
               f"c_issuer 0 {pki.ref('leaf0')} 16", "handshake 0 1 host=good.test client=late events=1"]
    for staple, trust, tls in itertools.product(STAPLES, CLIENT_TRUST[:4], ("1.2", "1.3")):
        yield ["list 0", "cred 0", "cred 1", *filled(pki, trust), f"c_identity 1 leaf0.pem leaf.key ocsp-{staple}.der",
               f"handshake 0 1 host=good.test tls={tls}", f"handshake 0 1 tls={tls} client=peers3", "c_flags 0 512",
               f"handshake 0 1 tls={tls}"]


def servers(pki):
    """The server's list is read as it is for the names in CertificateRequest."""
    trusts = [[line.replace(" 0 ", " 1 ", 1) if line.startswith("c_") else line for line in filled(pki, trust)]
              for trust in CLIENT_TRUST if not any(line.startswith(("list 0 1", "c_system")) for line in trust)]
    trusts = [[line.replace("c_set_list 0 0", "c_set_list 1 0").replace("c_list 0 0", "c_list 1 0") for line in trust]
              for trust in trusts]
    trusts += [["c_system 1"], ["c_file 1 same.pem pem", "c_file 1 relatives.pem pem", "c_mem 1 same.pem pem"]]
    for n, trust in enumerate(trusts):
        for before in ([], ["handshake 1 1 client=late", f"c_issuer 1 {pki.ref('leaf0')} 16"]):
            request = 1 + n % 2
            yield ["list 0", "cred 0", "cred 1", "c_file 0 roots.pem pem", "c_identity 0 chain.pem leaf.key",
                   "c_identity 1 leaf0.pem leaf.key", *trust, *before,
                   f"handshake 0 1 request={request} tls=1.3", f"handshake 0 1 request={request} tls=1.2",
                   "handshake 0 1 request=1 names=1", "handshake 0 1 request=1 names=1 tls=1.2",
                   # The same credential asks and answers.
                   "handshake 1 1 request=2", "handshake 1 0 request=1 names=1", "handshake 0 1 again=1",
                   # Loads after the first request of a process.
                   "cred 1", "c_identity 1 leaf0.pem leaf.key", *trust, "handshake 0 1 request=1 names=1",
                   "handshake 1 0 host=good.test", "c_list 1 0", "next 0 0 500"]
    # A server with trust whose first request of the process comes late, or only after a handshake.
    for again in (" again=1", ""):
        yield ["list 0", "cred 0", "cred 1", "c_file 0 roots.pem pem", "c_identity 0 chain.pem leaf.key",
               "c_identity 1 leaf0.pem leaf.key", "c_file 1 roots.pem pem", "c_file 1 other.pem pem", "handshake 0 1",
               "handshake 0 1 client=late", f"handshake 0 1 names=1{again}",
               "handshake 0 1 request=1 names=1"]

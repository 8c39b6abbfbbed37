"""TLS handshakes: verdicts as a client sees them, and chains a server builds
for sending out of what its store holds."""

import itertools


def cases(pki):
    ref = pki.ref
    clients = (
        ["ctx_locations 0 roots.pem -"], ["ctx_locations 0 relatives.pem -"],
        ["ctx_locations 0 - dir"], ["ctx_locations 0 other.pem dir"], ["ctx_locations 0 one.pem -"],
        ["ctx_locations 0 trusted.pem -"], ["ctx_locations 0 rejected.pem -"],
        ["env SSL_CERT_FILE roots.pem", "env SSL_CERT_DIR %", "ctx_default 0"],
        ["env SSL_CERT_FILE %", "env SSL_CERT_DIR dir", "ctx_default 0"],
        ["env SSL_CERT_FILE %", "env SSL_CERT_DIR %", "ctx_default 0"],
        ["store 0", f"add 0 {ref('twin')}", "ctx_set_store 0 0", "ctx_locations 0 roots.pem -"],
        ["store 0", "locations 0 roots.pem -", "ctx_set_verify_store 0 0"],
        [],
    )
    servers = (
        ["identity 1 leaf0.pem leaf.key"], ["identity 1 leaf1.pem leaf.key"],
        ["identity 1 leaf_inter.pem leaf.key", f"extra 1 {ref('inter')}"],
        ["identity 1 leaf_inter.pem leaf.key", "ctx_locations 1 inter.pem -"],
        ["identity 1 leaf0.pem leaf.key", "ctx_locations 1 other.pem -"],
        ["identity 1 leaf0.pem leaf.key", "ctx_locations 1 relatives.pem dir"],
        ["identity 1 leaf_inter.pem leaf.key", "ctx_locations 1 inter.pem dir", "build_chain 1 0"],
        ["identity 1 leaf_inter.pem leaf.key", "ctx_locations 1 inter.pem -", "build_chain 1 8"],
    )
    groups = []
    for client, server in itertools.product(clients, servers):
        groups.append(["ctx 0", "ctx 1", "ctx_time 0", "ctx_time 1", "env SSL_CERT_FILE -",
                       "env SSL_CERT_DIR -", *client, *server, "handshake 0 1 host=good.test",
                       "handshake 0 1 host=bad.test tls12=1", "handshake 0 1"])
    for n in range(0, len(groups), 26):
        lines = sum(groups[n : n + 26], [])
        yield f"handshakes-{n // 26:02}", pki.files(), pki.start() + lines, False, "*"

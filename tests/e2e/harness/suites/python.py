"""Debian's python3: urllib, http.client, requests, and what the ssl module shows of a store."""

from cases import HASHED, Case, plain, three_hosts

PYTHON = "/usr/bin/python3"
WRONG = (1, (r"Hostname mismatch, certificate is not valid for 'localhost'",))
UNTRUSTED = (1, (r"certificate verify failed: (self-signed certificate in certificate chain|unable to get local "
                 r"issuer)",))
REQUESTS_WRONG = (1, (r"hostname 'localhost' doesn't match|Hostname mismatch",))
GOOD = (0, (r"200 hello from good",))


def cases(world):
    pki, hosts = world.pki, world.hosts
    client, store = world.programs / "client.py", world.programs / "store.py"
    good = hosts.url("good")
    ways = {
        "urllib, SSL_CERT_FILE": ("urllib", (), {"SSL_CERT_FILE": pki.bundle}),
        "urllib, cafile": ("urllib", ("cafile", pki.bundle), None),
        "urllib, SSL_CERT_DIR": ("urllib", (), {"SSL_CERT_DIR": pki.capath}),
        "http.client, cafile": ("http.client", ("cafile", pki.bundle), None),
        "http.client, capath": ("http.client", ("capath", pki.capath), None),
        "requests, verify": ("requests", ("cafile", pki.bundle), None),
        "requests, verify a directory": ("requests", ("capath", pki.capath), None),
        "requests, REQUESTS_CA_BUNDLE": ("requests", (), {"REQUESTS_CA_BUNDLE": pki.bundle}),
    }
    for name, (how, trust, env) in ways.items():
        wrong = REQUESTS_WRONG if how == "requests" else WRONG
        served = HASHED if "capath" in trust else "served/"
        yield from three_hosts("python: " + name, lambda host, how=how, trust=trust: [
            PYTHON, client, how, hosts.url(host), *trust], GOOD, wrong, UNTRUSTED, env, served=served)

    def see(what, *arguments):
        return [PYTHON, store, what, *arguments]

    yield plain("python: Debian's own store does not know the test root", [PYTHON, client, "urllib", good],
                status=1, shows=UNTRUSTED[1])
    yield plain("python: SSL_CERT_FILE set but empty", [PYTHON, client, "urllib", good], {"SSL_CERT_FILE": ""},
                status=1, shows=UNTRUSTED[1], served=None, bypassed="path")
    yield plain("python: SSL_CERT_FILE of a missing file", [PYTHON, client, "urllib", good],
                {"SSL_CERT_FILE": "/nowhere/bundle.pem"}, status=1, shows=UNTRUSTED[1], served=None,
                bypassed="unreadable")
    for name, env, words in (("cafile", None, ["cafile=" + str(pki.bundle)]),
                             ("SSL_CERT_FILE", {"SSL_CERT_FILE": pki.bundle}, []),
                             ("SSL_CERT_FILE and SSL_CERT_DIR",
                              {"SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt", "SSL_CERT_DIR": pki.capath}, [])):
        yield plain(f"python: get_ca_certs before and after a handshake, {name}",
                    see("enumerate_store", good, *words), env, shows=(r"(?m)^200$", f"'x509_ca': {pki.count}"))
        yield plain(f"python: get_ca_certs only after a handshake, {name}",
                    see("enumerate_after", good, *words), env, shows=(r"(?m)^200$", f"'x509_ca': {pki.count}"))
    yield plain("python: get_ca_certs, cadata and cafile and capath and defaults",
                see("enumerate_mixed", good, pki.bundle, pki.capath, pki.path("twin.crt")),
                shows=(r"(?m)^200$", "capath", "handshake"), served=None, bypassed="shared-subject")
    yield Case("python: a root removed or added is seen by the next context", lambda side: side.run(see(
        "changes", good, pki.bundle, "/etc/ssl/certs/ca-certificates.crt", world.place.folder)), shows=(
        r"removed, written in place .*verify failed", r"added, written in place 200",
        r"removed, same size and mtime, in place .*verify failed", r"added, same size and mtime, in place 200",
        r"removed, same size and mtime, renamed .*verify failed", r"inner link swapped .*verify failed", r"back 200"))
    yield Case("python: a hashed directory stays live within a context", lambda side: side.run(see(
        "directory_changes", good, pki.path("root.crt"), world.place.folder)), shows=(
        r"empty .*verify failed", r"added 200", r"removed, same context 200", r"removed, next context .*verify failed"),
        served=HASHED)
    yield plain("python: unusable files", see("errors", "/nowhere/bundle.pem", pki.broken, pki.empty, pki.folder,
                                              "/dev/null", pki.path("root.key"), pki.trusted_certificate),
                shows=(r"FileNotFoundError 2", r"broken.pem SSLError", r"trusted-certificate.pem loaded"),
                served=None, bypassed="unsupported-content")
    yield plain("python: 8 threads with fresh contexts", see("threads", good, pki.bundle), shows=(r"7 5 200",))
    yield plain("python: contexts before and after a fork", see("forks", good, pki.bundle),
                shows=(r"child 2 fresh 200", r"parent 200"))
    yield plain("python: the peer's certificate", see("peer_chain", good, pki.bundle), shows=(r"TLSv1.3",))

"""Debian's php: https streams and openssl_x509_checkpurpose."""

from cases import HASHED, plain, three_hosts

PHP = "/usr/bin/php"
GOOD = (0, (r"hello from good",))
WRONG = (1, (r"Peer certificate subjectAltName did not match expected name `localhost'",))
UNTRUSTED = (1, (r"certificate verify failed",))


def cases(world):
    pki, hosts, program = world.pki, world.hosts, world.programs / "client.php"
    ways = {
        "https stream, SSL_CERT_FILE": ((), (), {"SSL_CERT_FILE": pki.bundle}, "served/"),
        "https stream, cafile": ((), ("cafile", pki.bundle), None, "served/"),
        "https stream, capath": ((), ("capath", pki.capath), None, HASHED),
        "https stream, openssl.cafile": (("-d", f"openssl.cafile={pki.bundle}"), (), None, "served/"),
    }
    for name, (options, trust, env, served) in ways.items():
        yield from three_hosts("php: " + name, lambda host, options=options, trust=trust: [
            PHP, *options, program, "get", hosts.url(host), *trust], GOOD, WRONG, UNTRUSTED, env, served=served)
    yield plain("php: openssl_x509_checkpurpose", [PHP, program, "purpose", pki.path("good.pem"),
                                                   pki.path("untrusted.pem"), pki.bundle, pki.capath,
                                                   "/nowhere/bundle.pem", pki.broken],
                shows=(r"bundle.pem good.pem 0 server: true", r"untrusted.pem 0 server: false"))
    yield plain("php: openssl_x509_checkpurpose, default paths",
                [PHP, program, "purpose", pki.path("good.pem"), pki.path("untrusted.pem"), "defaults"],
                {"SSL_CERT_FILE": pki.bundle}, served="served/X509_LOOKUP_ctrl",
                shows=(r"defaults good.pem 1 server: true", r"defaults untrusted.pem 1 server: false"))
    yield plain("php: cafile missing", [PHP, program, "get", hosts.url("good"), "cafile", "/nowhere/bundle.pem"],
                status=1, shows=(r"failed loading cafile stream|Unable to set verify locations",), served=None)

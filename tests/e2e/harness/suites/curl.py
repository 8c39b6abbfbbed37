"""curl, with its exit statuses: 0, 60 (peer's certificate), 77 (CA file)."""

from cases import HASHED, plain, three_hosts

CURL = "/usr/bin/curl"
GOOD = (0, (r"hello from good",))
WRONG = (60, (r"no alternative certificate subject name matches target host name 'localhost'",))
UNTRUSTED = (60, (r"SSL certificate problem: (self-signed certificate in certificate chain|unable to get local "
                  r"issuer)",))
# --capath: the file named beside it holds the root of the untrusted host.
OTHER_ROOT_TRUSTED = (0, (r"hello from untrusted",))


def cases(world):
    pki, hosts = world.pki, world.hosts
    ways = {
        "--cacert": (("--cacert", pki.bundle), None, "served/"),
        "--capath": (("--cacert", pki.path("other.crt"), "--capath", pki.capath), None, "served/"),
        "CURL_CA_BUNDLE": ((), {"CURL_CA_BUNDLE": pki.bundle}, "served/"),
        "SSL_CERT_FILE": ((), {"SSL_CERT_FILE": pki.bundle}, "served/"),
        "SSL_CERT_DIR": ((), {"SSL_CERT_DIR": pki.capath}, HASHED),
    }
    for name, (options, env, served) in ways.items():
        untrusted = OTHER_ROOT_TRUSTED if name == "--capath" else UNTRUSTED
        yield from three_hosts("curl: " + name, lambda host, options=options: [
            CURL, "-sS", *options, hosts.url(host)], GOOD, WRONG, untrusted, env, served=served)
    good = hosts.url("good")
    yield plain("curl: Debian's own store", [CURL, "-sS", good], status=60, shows=UNTRUSTED[1])
    yield plain("curl: two URLs, the second refused",
                [CURL, "-sS", "--cacert", pki.bundle, good, hosts.url("untrusted")],
                status=60, shows=GOOD[1] + UNTRUSTED[1])
    yield plain("curl: parallel", [CURL, "-sS", "--no-progress-meter", "-Z", "--cacert", pki.bundle, good, good, good],
                shows=GOOD[1])
    yield plain("curl: --cacert of a missing file", [CURL, "-sS", "--cacert", "/nowhere/bundle.pem", good], status=77,
                shows=(r"error setting certificate",), served=None, bypassed="unreadable")
    yield plain("curl: --cacert of a broken file", [CURL, "-sS", "--cacert", pki.broken, good], status=77,
                shows=(r"error setting certificate",), served=None, bypassed="unsupported-content")
    yield plain("curl: --cacert of an empty file", [CURL, "-sS", "--cacert", pki.empty, good], status=77,
                shows=(r"error setting certificate",), served=None, bypassed="unsupported-content")
    yield plain("curl: TLS 1.2", [CURL, "-sS", "--tls-max", "1.2", "--cacert", pki.bundle, good], shows=GOOD[1])
    yield plain("curl: --insecure", [CURL, "-sS", "-k", hosts.url("untrusted")], shows=(r"hello from untrusted",),
                served=None)

"""Debian's ruby: net/http and OpenSSL::X509::Store."""

from cases import HASHED, Case, plain, three_hosts

RUBY = "/usr/bin/ruby"
GOOD = (0, (r"200 hello from good",))
WRONG = (1, (r"hostname mismatch|hostname \"localhost\" does not match",))
UNTRUSTED = (1, (r"self-signed certificate in certificate chain|unable to get local issuer",))


def cases(world):
    pki, hosts, program = world.pki, world.hosts, world.programs / "client.rb"
    ways = {
        "net/http, SSL_CERT_FILE": ((), {"SSL_CERT_FILE": pki.bundle}, "served/"),
        "net/http, ca_file": (("ca_file", pki.bundle), None, "served/"),
        "net/http, ca_path": (("ca_path", pki.capath), None, HASHED),
        "net/http, X509::Store": (("store", pki.bundle), None, "served/"),
    }
    for name, (trust, env, served) in ways.items():
        yield from three_hosts("ruby: " + name, lambda host, trust=trust: [
            RUBY, program, "get", hosts.url(host), *trust], GOOD, WRONG, UNTRUSTED, env, served=served)
    yield plain("ruby: X509::Store verdict, error and chain",
                [RUBY, program, "verify", pki.bundle, pki.path("good.pem"), pki.path("untrusted.pem")],
                shows=(r"good.pem true 0 ok 3", r"untrusted.pem false (18|20|19)"))
    yield plain("ruby: X509::Store.set_default_paths", [RUBY, program, "defaults", pki.path("good.pem")],
                {"SSL_CERT_FILE": pki.bundle}, shows=(r"true ok",))
    yield plain("ruby: errors of add_file", [RUBY, program, "errors", "/nowhere/bundle.pem", pki.broken, pki.empty,
                                             pki.folder, pki.bundle],
                shows=(r"bundle.pem OpenSSL::X509::StoreError", r"broken.pem OpenSSL::X509::StoreError",
                       r"bundle.pem added"),
                bypassed="unsupported-content")
    yield Case("ruby: SSL_CERT_FILE=/dev/null", lambda side: side.run(
        [RUBY, program, "defaults", pki.path("good.pem")], {"SSL_CERT_FILE": "/dev/null"}),
        shows=(r"false unable to get",), served=None,
        bypassed="not-a-regular-file")

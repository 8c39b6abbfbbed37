"""Crystal's HTTP::Client, compiled from programs/client.cr."""

from cases import plain, three_hosts

GOOD = (0, (r"200 hello from good",))
WRONG = (1, (r"certificate verify failed",))
UNTRUSTED = (1, (r"certificate verify failed",))


def cases(world):
    pki, hosts, program = world.pki, world.hosts, world.built["client.cr"]
    ways = {
        "HTTP::Client, SSL_CERT_FILE": ((), {"SSL_CERT_FILE": pki.bundle}, "served/"),
        "HTTP::Client, ca_certificates": (("ca_certificates", pki.bundle), None, "served/"),
        "HTTP::Client, ca_certificates_path": (("ca_certificates_path", pki.capath), None, "served/"),
    }
    for name, (trust, env, served) in ways.items():
        yield from three_hosts("crystal: " + name, lambda host, trust=trust: [
            program, hosts.url(host), *trust], GOOD, WRONG, UNTRUSTED, env, served=served)
    yield plain("crystal: ca_certificates of a missing file",
                [program, hosts.url("good"), "ca_certificates", "/nowhere/bundle.pem"], status=1,
                shows=(r"No such file",))

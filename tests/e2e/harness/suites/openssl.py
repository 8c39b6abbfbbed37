"""The openssl command: verify, s_client, s_server, cms."""

import subprocess
import tempfile

from cases import HASHED, Case, plain, three_hosts
from servers import wait_for_port
from sides import STEP_SECONDS, Result, environment

OPENSSL = "/usr/bin/openssl"
GOOD = (0, (r"Verification: OK",))
WRONG = (1, (r"(?i)hostname mismatch",))
UNTRUSTED = (1, (r"self-signed certificate in certificate chain|unable to get local issuer",))


def cases(world):
    pki, hosts = world.pki, world.hosts
    ways = {
        "s_client -CAfile": (("-CAfile", pki.bundle), None, "served/"),
        "s_client -CApath": (("-CApath", pki.capath), None, HASHED),
        "s_client, SSL_CERT_FILE": ((), {"SSL_CERT_FILE": pki.bundle}, "served/"),
    }
    for name, (trust, env, served) in ways.items():
        yield from three_hosts("openssl: " + name, lambda host, trust=trust: [
            OPENSSL, "s_client", "-brief", "-verify_return_error", "-verify_hostname", "localhost", *trust,
            "-connect", f"localhost:{hosts.ports[host]}"], GOOD, WRONG, UNTRUSTED, env, served=served,
            random=("openssl-thread",))
    yield from verify_cases(pki)
    yield Case("openssl: cms -verify -CAfile", lambda side: cms(side, pki),
               shows=(r"Verification successful", "signed text"))
    yield from s_server_cases(world)


def verify_cases(pki):
    chain = ("-show_chain", "-untrusted", pki.path("intermediate.crt"))
    good, untrusted = pki.path("good.crt"), pki.path("untrusted.crt")

    def verify(name, arguments, env=None, **wanted):
        return plain(f"openssl: verify {name}", [OPENSSL, "verify", *arguments], env, random=("openssl-thread",),
                     **wanted)

    yield verify("-CAfile", ["-CAfile", pki.bundle, *chain, good, good], shows=(r"good.crt: OK",))
    yield verify("-CAfile, untrusted", ["-CAfile", pki.bundle, *chain, untrusted], status=2,
                 shows=(r"unable to get local issuer",))
    yield verify("-CApath", ["-CApath", pki.capath, "-no-CAfile", "-no-CAstore", *chain, good],
                 shows=(r"good.crt: OK",), served=HASHED)
    yield verify("-no-CAfile -no-CApath -no-CAstore", ["-no-CAfile", "-no-CApath", "-no-CAstore", *chain, good],
                 status=2, shows=(r"unable to get (local )?issuer",), served=None)
    yield verify("-no-CAfile", ["-no-CAfile", *chain, good], {"SSL_CERT_FILE": pki.bundle}, status=2,
                 shows=(r"unable to get (local )?issuer",), served=None)
    yield verify("defaults", [*chain, good], {"SSL_CERT_FILE": pki.bundle}, shows=(r"good.crt: OK",))
    yield verify("-partial_chain", ["-partial_chain", "-CAfile", pki.path("intermediate.crt"), "-show_chain", good],
                 shows=(r"good.crt: OK",))
    yield verify("-CAfile of two twins", ["-CAfile", pki.path("twin.crt"), *chain, good], status=2,
                 shows=(r"error 7 at|error 20 at|unable to get",))
    yield verify("-trusted", ["-trusted", pki.bundle, *chain, good], shows=(r"good.crt: OK",), served=None)
    yield verify("-CAfile of a missing file", ["-CAfile", "/nowhere/bundle.pem", good], status=1,
                 shows=(r"No such file",), served=None, bypassed="unreadable")
    yield verify("-CAfile of a broken file", ["-CAfile", pki.broken, good], status=1, shows=(r"bad",), served=None,
                 bypassed="unsupported-content")
    yield verify("-CAfile with TRUSTED CERTIFICATE",
                 ["-purpose", "sslserver", "-CAfile", pki.trusted_certificate, *chain,
                                                       good], shows=(r"good.crt: OK",), served=None,
                 bypassed="unsupported-content")
    yield verify("-CAfile with TRUSTED CERTIFICATE that rejects",
                 ["-purpose", "sslserver", "-CAfile", pki.rejecting_certificate,
                                                                   *chain, good],
                 status=2, shows=(r"certificate rejected",), served=None, bypassed="unsupported-content")
    yield verify("-crl_check", ["-crl_check", "-CAfile", pki.bundle, *chain, good], status=2,
                 shows=(r"unable to get certificate CRL",))


def cms(side, pki):
    """Signed stock (signatures are random), verified by the side under test."""
    signed = subprocess.run([OPENSSL, "cms", "-sign", "-signer", pki.path("client.crt"), "-inkey",
                             pki.path("client.key"), "-certfile", pki.path("intermediate.crt")], input=b"signed text\n",
                            check=True, timeout=STEP_SECONDS,
                            stdout=subprocess.PIPE, env=environment(None)).stdout.decode()
    return side.run([OPENSSL, "cms", "-verify", "-purpose", "any", "-CAfile", pki.bundle], stdin=signed)


def s_server_cases(world):
    """A server asking for client certificates: its verdicts, and the names it sends."""
    for name, client, shows in (
            ("client certificate accepted", "client", (r"client status 0", r"depth=2 .*Windlass Test Root")),
            ("stranger refused", "stranger", (r"unable to get local issuer", r"client status [1-9]"))):
        yield Case(f"openssl: s_server -Verify, {name}", lambda side, client=client: with_s_server(
            side, world, ("-cert", world.pki.path(client + ".pem"), "-key", world.pki.path(client + ".key"),
                              "-cert_chain", world.pki.path("intermediate.crt"))),
            shows=shows, random=("openssl-thread",))
    yield Case("openssl: s_server -Verify, CA names on the wire", lambda side: with_s_server(
        side, world, (), names=True), shows=(r"Acceptable client certificate CA names", r"CN = Windlass Test Root"),
        random=("openssl-thread",))


def with_s_server(side, world, client_options, names=False):
    """One connection by a stock client to the side's server; the server's output with the client's report below it."""
    pki, port = world.pki, world.port
    server = [OPENSSL, "s_server", "-accept", str(port), "-naccept", "1", "-quiet", "-tls1_2", "-cert",
              pki.path("good.pem"), "-key", pki.path("good.key"), "-CAfile", pki.bundle, "-verify_return_error",
              "-Verify", "3"]
    with side.start(server) as running, tempfile.TemporaryFile("w+") as shown:
        wait_for_port(port, running.process)
        client = subprocess.run([OPENSSL, "s_client", "-connect", f"127.0.0.1:{port}", "-CAfile", pki.bundle,
                                 *client_options], stdin=subprocess.DEVNULL, stdout=shown, stderr=subprocess.DEVNULL,
                                timeout=STEP_SECONDS, env=environment(None))
        result = running.wait()
        shown.seek(0)
        report = shown.read()
    text = f"client status {client.returncode}\n"
    if names:
        begin = report.index("Acceptable client certificate CA names")
        text += report[begin:report.index("\n---", begin)]
    return Result(result.status, result.stdout + text, result.stderr, result.counters)

"""Programs that ask a server with the trust that they have by default."""

import dataclasses
import os
import shutil
import subprocess
import typing

import build
from sides import environment

PYTHON = "/usr/bin/python3"


@dataclasses.dataclass
class Client:
    """`command(name of a host)`; exit status 0, and this text in its output, say that the host was accepted."""

    name: str
    command: typing.Callable
    accepted: str = "hello from {host}"
    env: dict = dataclasses.field(default_factory=dict)


def clients(world):
    url, port, mine, theirs = world.hosts.url, world.hosts.ports, world.programs, world.other_programs
    out = world.built
    yield Client("python ssl", lambda host: [PYTHON, theirs / "client.py", "urllib", url(host)])
    yield Client("python requests", lambda host: [PYTHON, theirs / "client.py", "requests", url(host)])
    yield Client("ruby", lambda host: ["ruby", theirs / "client.rb", "get", url(host)])
    yield Client("php", lambda host: ["php", theirs / "client.php", "get", url(host)])
    yield Client("perl", lambda host: ["perl", mine / "client.pl", url(host)])
    yield Client("crystal", lambda host: [out["client.cr"], url(host)])
    yield Client("curl", lambda host: ["/usr/bin/curl", "-sS", url(host)])
    yield Client("curl --capath", lambda host: ["/usr/bin/curl", "-sS", "--capath", "/etc/ssl/certs", url(host)])
    yield Client("openssl", lambda host: ["openssl", "s_client", "-connect", f"localhost:{port[host]}", "-verify_return_error",
                                          "-brief"], accepted="Verification: OK")
    yield Client("wget", lambda host: ["wget", "-nv", "-t", "1", "-O", "-", url(host)])
    yield Client("gnutls-cli", lambda host: ["gnutls-cli", "--port", port[host], "localhost"],
                 accepted="The certificate is trusted")
    yield Client("gnutls-cli --x509cafile of the machine", lambda host: [
        "gnutls-cli", "--x509cafile", "/usr/lib/ssl/cert.pem", "--port", port[host], "localhost"],
        accepted="The certificate is trusted")
    yield Client("libcurl-gnutls", lambda host: [out["curl_gnutls.c"], url(host), 2], accepted="0 No error")
    yield Client("git", lambda host: ["git", "ls-remote", url(host) + "r.git"], accepted="refs/heads/main",
                 env={"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"})
    # Its roots are compiled in; what stands for the machine's is the variable that somebody has set already.
    yield Client("node", lambda host: ["node", mine / "client.js", url(host)],
                 env={"NODE_EXTRA_CA_CERTS": world.pki.path("machine.crt")})
    yield Client("java", lambda host: ["java", mine / "Client.java", url(host)])
    yield Client("go", lambda host: [out["client.go"], url(host)])


def compiled(sources, other_sources, target):
    """The programs that have to be built; only if their source is newer."""
    built = {}
    for name in ("client.cr", "curl_gnutls.c"):
        built[name] = one(target, name, other_sources / name, build.COMMANDS[name])
    for name, library in (("returns.c", ("-lssl", "-lcrypto")), ("gnutls_returns.c", ("-lgnutls",))):
        built[name] = one(target, name, sources / name, lambda source, out, library=library: [
            "cc", "-Wall", "-Wextra", "-Werror", "-o", out, source, *library])
    built["client.go"] = one(target, "client.go", sources / "client.go", lambda source, out: [
        shutil.which("go"), "build", "-o", out, source])
    return built


def one(target, name, source, command):
    target.mkdir(parents=True, exist_ok=True)
    out = target / name.replace(".", "-")
    if not out.exists() or out.stat().st_mtime <= source.stat().st_mtime:
        env = environment({"CRYSTAL_CACHE_DIR": target / "crystal-cache", "GOCACHE": target / "go-cache", "GOFLAGS": "-mod=mod",
                           "GOTOOLCHAIN": "local", "GO111MODULE": "off", "GOPATH": target / "go", "CGO_ENABLED": "0"})
        done = subprocess.run(list(map(os.fspath, command(source, out))), env=env, timeout=600, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"building {name} failed:\n{done.stdout}")
    return out

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
    # Then it trusts the machine's CAs only with the flag.
    has_own_roots: bool = False


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
    yield Client("openssl", lambda host: ["openssl", "s_client", "-connect", f"localhost:{port[host]}",
                                          "-verify_return_error", "-brief"], accepted="Verification: OK")
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
    yield from packaged(world)


def packaged(world):
    """Those of tests/add-ca/requirements.txt, and Cargo. Each is left the one variable that docs/add-ca.md names for
    it."""
    url, mine = world.hosts.url, world.programs
    commands = world.target / "add-ca/packages/bin"
    own = world.folder / "packaged"
    yield Client("requests with certifi", lambda host: [commands / "python", world.other_programs / "client.py",
                                                        "requests", url(host)],
                 has_own_roots=True)
    # It looks where the machine's trust is, so the library would be enough for it.
    pip = [*without("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "WINDLASS_ADD_CA"), commands / "pip", "--no-cache-dir",
           "--retries", "0", "index", "versions"]
    yield Client("pip", lambda host: [*pip, "--index-url", url(host) + "simple", host], accepted="{host} (1.0)",
                 env={"PIP_CONFIG_FILE": "/dev/null", "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    aws = [*without("REQUESTS_CA_BUNDLE"), commands / "aws", "s3api", "list-buckets"]
    yield Client("aws", lambda host: [*aws, "--endpoint-url", url(host) + "s3/"], has_own_roots=True,
                 env={"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "AWS_DEFAULT_REGION": "us-east-1",
                      "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1"})
    yield Client("grpc", lambda host: [commands / "python", mine / "grpc_client.py", world.hosts.http2_ports[host]],
                 has_own_roots=True)
    deno = [commands / "deno", "run", "--quiet", "--no-config", "--allow-net=localhost", mine / "client.deno.js"]
    home = {"DENO_DIR": own / "deno", "DENO_NO_UPDATE_CHECK": "1"}
    # As with node.
    yield Client("deno", lambda host: [*without("NODE_EXTRA_CA_CERTS"), *deno, url(host)],
                 env={**home, "DENO_CERT": world.pki.path("machine.crt")})
    # This store is read by rustls-native-certs.
    yield Client("deno, the machine's store", lambda host: [*without("DENO_CERT", "NODE_EXTRA_CA_CERTS"), *deno,
                                                            url(host)],
                 env={**home, "DENO_TLS_CA_STORE": "system"})
    # It wants libssl 1.1; ours of the tests has no CAs in its own place, so the variable stands for Debian's.
    dotnet = ["env", f"LD_LIBRARY_PATH={world.target / 'openssl/1.1.1w/lib'}",
              dotnet_runtime(commands.parent) / "dotnet", "exec",
              "--runtimeconfig", mine / "client.runtimeconfig.json", world.built["client.cs"]]
    yield Client("dotnet", lambda host: [*dotnet, url(host)],
                 env={"SSL_CERT_DIR": "/etc/ssl/certs", "COMPlus_EnableDiagnostics": "0"})
    yield Client("cargo", lambda host: [*without("SSL_CERT_FILE"), os.environ["CARGO"], "search", "--index", "sparse+"
                                        + url(host), host],
                 env={"CARGO_HOME": own / "cargo", "CARGO_NET_RETRY": "0"})


def without(*names):
    return ["env", *(word for name in names for word in ("-u", name))]


def dotnet_runtime(packages):
    return next(packages.glob("lib/python3*/site-packages/dotnetcore2/bin"))


def compiled(sources, other_sources, target):
    """The programs that have to be built; only if their source is newer."""
    built = {}
    for name in ("client.cr", "curl_gnutls.c"):
        built[name] = one(target, name, other_sources / name, build.COMMANDS[name])
    for name, library in (("returns.c", ("-lssl", "-lcrypto")), ("gnutls_returns.c", ("-lgnutls",))):
        built[name] = one(target, name, sources / name, lambda source, out, library=library: [
            "cc", "-Wall", "-Wextra", "-Werror", "-o", out, source, *library])
    libraries = next(dotnet_runtime(target / "packages").glob("shared/Microsoft.NETCore.App/*"))
    references = [f"-r:{libraries}/{name}.dll" for name in ("System.Private.CoreLib", "System.Private.Uri",
                                                            "System.Runtime", "System.Runtime.Extensions",
                                                            "System.Console", "System.Net.Http")]
    built["client.cs"] = one(target, "client.cs", sources / "client.cs", lambda source, out: [
        "mcs", "-nologo", "-noconfig", "-nostdlib", f"-out:{out}", *references, source], ".dll")
    built["client.go"] = one(target, "client.go", sources / "client.go", lambda source, out: [
        shutil.which("go"), "build", "-o", out, source])
    return built


def one(target, name, source, command, suffix=""):
    target.mkdir(parents=True, exist_ok=True)
    out = target / (name.replace(".", "-") + suffix)
    if not out.exists() or out.stat().st_mtime <= source.stat().st_mtime:
        env = environment({"CRYSTAL_CACHE_DIR": target / "crystal-cache", "GOCACHE": target / "go-cache",
                           "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GO111MODULE": "off", "GOPATH": target / "go",
                           "CGO_ENABLED": "0"})
        done = subprocess.run(list(map(os.fspath, command(source, out))), env=env, timeout=600, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"building {name} failed:\n{done.stdout}")
    return out

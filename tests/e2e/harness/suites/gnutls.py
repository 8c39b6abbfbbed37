"""Programs that use GnuTLS: gnutls-cli, gnutls-serv, certtool, wget, git, apt, libcurl's build for GnuTLS,
glib-networking, and the program of the mission's row D, which loads every file of /etc/ssl/certs."""

import contextlib
import os
import re
import signal
import subprocess

from cases import Case, plain, three_hosts
from pki import SYSTEM_BUNDLE
from servers import NGINX, nginx_config, wait_for_port
from sides import STEP_SECONDS, Result, die_with_parent, environment
from suites.compiled import inside

CLI, SERV, WGET, GIT, APT = ("/usr/bin/gnutls-cli", "/usr/bin/gnutls-serv", "/usr/bin/wget", "/usr/bin/git",
                             "/usr/bin/apt-get")
FILE, MEMORY = "served/gnutls_x509_trust_list_add_trust_file", "served/gnutls_x509_trust_list_add_trust_mem"
VERIFIED = ("gnutls/verifications",)
FILES_SERVER = """  server {{
    listen 127.0.0.1:{port} ssl; ssl_certificate {chain}; ssl_certificate_key {key}; ssl_protocols TLSv1.2 TLSv1.3;
    root {content};
  }}
"""


def cases(world):
    yield from tools(world)
    yield from fetchers(world)
    yield from own_programs(world)
    yield from servers(world)


def tools(world):
    """gnutls-cli and certtool."""
    pki, hosts = world.pki, world.hosts
    good = (0, (r"Status: The certificate is trusted",))
    wrong = (1, (r"The name in the certificate does not match the expected",))
    untrusted = (1, (r"The certificate is NOT trusted. The certificate issuer is unknown",))

    def cli(host, *more):
        return [CLI, "--port", hosts.ports[host], *more, "localhost"]

    for name, more in (("--x509cafile", ()), ("TLS 1.2", ("--priority=NORMAL:-VERS-ALL:+VERS-TLS1.2",))):
        yield from three_hosts(f"gnutls-cli: {name}", lambda host,
                               more=more: cli(host, "--x509cafile", pki.bundle, *more), good, wrong,
                               untrusted, served=FILE, counts=VERIFIED, random=("gnutls-session",))
    yield plain("gnutls-cli: Debian's own store", cli("good"), status=1, shows=untrusted[1], served=FILE,
                counts=VERIFIED, random=("gnutls-session",))
    yield plain("gnutls-cli: a missing file", cli("good", "--x509cafile", "/nowhere/bundle.pem"), status=1,
                shows=(r"Error setting the x509 trust file",), served=None, bypassed="unreadable")
    # GnuTLS says how many certificates it has read, and goes on with none.
    yield plain("gnutls-cli: a broken file", cli("good", "--x509cafile", pki.broken), status=1, served=None,
                shows=(r"Error setting the x509 trust file|issuer is unknown",), bypassed="unsupported-content",
                random=("gnutls-session",))
    for what, argv in (("wget", [WGET, "-nv", "-O", "-"]), ("gnutls-cli", [CLI])):
        def command(host, what=what, argv=argv):
            return inside(world, "-", [*argv, hosts.url(host)] if what == "wget"
                          else [*argv, "--port", hosts.ports[host], "localhost"])
        shown = (r"hello from good",) if what == "wget" else good[1]
        yield plain(f"{what}: a compiled store of the system's trust", command("good"), shows=shown, served=FILE,
                    counts=("cache/compiled", *VERIFIED), random=("gnutls-session", "wget-time"))
        yield plain(f"{what}: a compiled store, untrusted root", command("untrusted"),
                    status=5 if what == "wget" else 1, served=FILE,
                    counts=("cache/compiled", *VERIFIED), random=("gnutls-session", "wget-time"))


def fetchers(world):
    """wget, git and apt."""
    pki, hosts = world.pki, world.hosts
    for name, more, served in (("--ca-certificate", ("--ca-certificate", pki.bundle), FILE), ("--ca-directory", (
            "--ca-directory", pki.capath), FILE)):
        yield from three_hosts(f"wget: {name}", lambda host,
                               more=more: [WGET, "-nv", "-O", "-", *more, hosts.url(host)], (
            0, (r"hello from good",)), (5, (r"certificate's owner does not match|does not match",)), (
            5, (r"certificate of ‘localhost’ (is not trusted|doesn't have a known issuer)",)), served=served,
                               counts=VERIFIED,
            random=("wget-time",))
    yield plain("wget: Debian's own store", [WGET, "-nv", "-O", "-", hosts.url("good")], status=5,
                shows=(r"doesn't have a known issuer|is not trusted",), served=FILE, counts=VERIFIED,
                random=("wget-time",))
    content = files(world)
    for action, shows in (("ls-remote", r"refs/heads/main"), ("clone", r"Cloning into")):
        for host, status in (("good", 0), ("wrong", 128), ("untrusted", 128)):
            expected = shows if status == 0 else r"server certificate verification failed|certificate subject name"
            yield Case(f"git: {action} over https, {host}", lambda side, action=action,
                       host=host: git(side, world, content, host, action),
                       status=status, shows=(expected,), served=FILE, counts=VERIFIED)
    yield Case("git: http.sslCAPath", lambda side: git(side, world, content, "good", "ls-remote",
                                                       trust=("http.sslCAPath", pki.capath)),
               shows=(r"refs/heads/main",), served=FILE, counts=VERIFIED)
    for host, status, expected in (("good", 0, r"Get:\d+ https"), ("wrong", 100, r"Certificate verification failed"),
                                   ("untrusted", 100, r"Certificate verification failed")):
        yield Case(f"apt: update over https, {host}", lambda side, host=host: apt(side, world, content, host),
                   status=status, shows=(expected,), served=FILE, counts=VERIFIED, random=("apt-speed",))


def own_programs(world):
    """Programs that link against GnuTLS, or against a library that does."""
    pki, hosts = world.pki, world.hosts
    curl, client = world.built["curl_gnutls.c"], world.built["gnutls_client.c"]
    for how in ("cafile", "capath"):
        yield from three_hosts(f"libcurl-gnutls: {how}", lambda host, how=how: [
            curl, hosts.url(host), 3, how, pki.bundle if how == "cafile" else pki.capath], (0, (r"hello from good",)),
            (60, (r"does not match target host name",)), (60, (r"server certificate verification failed",)),
                               served=FILE, counts=VERIFIED)
    yield from three_hosts("glib-networking: GTlsFileDatabase", lambda host: [
        "/usr/bin/python3", world.programs / "client_gio.py", hosts.ports[host], pki.bundle],
                           (0, (r"hello from good\nhello from good",)),
        (1, (r"refused: .*BAD_IDENTITY",)), (1, (r"refused: .*UNKNOWN_CA",)), served="gnutls/lists")
    yield plain("glib-networking: Debian's own store",
                ["/usr/bin/python3", world.programs / "client_gio.py", hosts.ports["good"]], status=1,
                shows=(r"refused: .*UNKNOWN_CA",), served="gnutls/lists")
    # Row D: every file of /etc/ssl/certs, and one more.
    everything = pki.path("everything")
    everything.mkdir(exist_ok=True)
    for file in sorted(SYSTEM_BUNDLE.parent.iterdir()):
        if not (everything / file.name).exists():
            (everything / file.name).symlink_to(file)
    if not (everything / "windlass.pem").exists():
        (everything / "windlass.pem").symlink_to(pki.path("root.crt"))
    loads = {"files": (everything, FILE), "dir": (everything, FILE), "file": (pki.bundle, FILE),
             "mem": (pki.bundle, MEMORY)}
    for how, (path, served) in loads.items():
        yield from three_hosts(f"C, GnuTLS: {how}", lambda host, how=how,
                               path=path: [client, how, path, hosts.ports[host]], (
            0, (r"hello from good",)), (1, (r"The name in the certificate does not match",)),
                               (1, (r"The certificate issuer is unknown",)),
            served=served, counts=VERIFIED)
    yield plain("C, GnuTLS: system trust", [client, "system", "-", hosts.ports["good"]], status=1,
                shows=(r"issuer is unknown",), served=FILE,
                counts=VERIFIED)


def servers(world):
    """gnutls-serv asks for client certificates; the names of its CAs are what an OpenSSL client is shown."""
    for version, count in (("-tls1_3", world.pki.count), ("-tls1_2", world.pki.count)):
        yield Case(f"gnutls-serv: CA names on the wire, {version[1:]}", lambda side,
                   version=version: serve(side, world, version), status=1,
                   shows=(r"CN = Windlass Test Root", r"CN = ISRG Root X1", f"{count} names",
                          r"client: HTTP/1.\d 200 OK", r"stranger: tlsv1 alert access denied"), served=FILE,
                   counts=("gnutls/completions",), random=("gnutls-session",))


def serve(side, world, version):
    pki, port = world.pki, world.port
    argv = [SERV, "--port", port, "--http", "--x509cafile", pki.bundle, "--x509certfile", pki.path("good.pem"),
            "--x509keyfile", pki.path("good.key"), "--require-client-cert", "--verify-client-cert", "--quiet"]
    with side.start(argv) as running:
        wait_for_port(port, running.process)
        lines = []
        for name in ("client", "stranger"):
            done = subprocess.run(["/usr/bin/openssl", "s_client", version, "-ign_eof", "-CAfile", pki.bundle,
                                   "-connect", f"127.0.0.1:{port}", "-cert", pki.path(name + ".crt"), "-cert_chain",
                                   pki.path(name + ".pem"), "-key", pki.path(name + ".key")],
                                  input="GET / HTTP/1.0\r\n\r\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=STEP_SECONDS, encoding="utf-8", env=environment(None))
            lines += [f"{name}: {line}"
                      for line in re.findall(r"Verify return code.*|tlsv1 alert \w+ \w+|HTTP/1.\d \d+ OK", done.stdout)]
        begin = done.stdout.index("Acceptable client certificate CA names")
        end = min(at for at in (done.stdout.find(mark, begin)
                                for mark in ("\nClient Certificate Types", "\nRequested Signature")) if at > 0)
        names = done.stdout[begin:end].splitlines()
        result = running.stop(signal.SIGTERM)
    return Result(result.status, "\n".join([*lines, *names, f"{len(names) - 1} names\n"]), result.stderr,
                  result.counters)


# --- a web server with a repository of git's and one of apt's

def files(world):
    """The content of the server, made once: the same for both sides."""
    content = world.pki.path("content")
    if content.exists():
        return content
    dates = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
             **git_settings(content)}
    work, bare = world.pki.path("work"), content / "repository.git"
    for command in (["init", "-q", "-b", "main", work], ["-C", work, "commit", "-q", "--allow-empty", "-m", "first"],
                    ["clone", "-q", "--bare", work, bare], ["-C", bare, "update-server-info"]):
        subprocess.run([GIT, "-c", "user.name=Test", "-c", "user.email=test@localhost", *map(str, command)], check=True,
                       env=environment(dates), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=STEP_SECONDS)
    (content / "debian").mkdir()
    (content / "debian" / "Packages").write_text("Package: windlass-test\nVersion: 1\nArchitecture: all\nFilename: "
                                                 "./none.deb\n"
                                                 "Size: 0\nSHA256: " + "0" * 64 + "\nDescription: nothing\n\n")
    return content


def git_settings(home):
    return {"HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}


@contextlib.contextmanager
def files_server(world, content, host):
    """A stock nginx with the certificate of one of the hosts."""
    folder, pki = world.place.folder / "server", world.pki
    folder.mkdir()
    config = folder / "nginx.conf"
    servers = FILES_SERVER.format(port=world.port, chain=pki.path(host + ".pem"), key=pki.path(host + ".key"),
                                  content=content)
    config.write_text(nginx_config(folder, servers, log=folder / "error.log", workers=False))
    process = subprocess.Popen([NGINX, "-e", folder / "error.log", "-p", folder, "-c", config], env=environment(None),
                               stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
    try:
        wait_for_port(world.port, process)
        yield f"https://localhost:{world.port}"
    finally:
        process.terminate()
        process.wait(timeout=STEP_SECONDS)


def git(side, world, content, host, action, trust=None):
    key, value = trust or ("http.sslCAInfo", world.pki.bundle)
    with files_server(world, content, host) as url:
        more = ["--quiet", "--bare"] if action == "clone" else []
        where = [world.place.folder / "clone"] if action == "clone" else []
        result = side.run([GIT, "-c", f"{key}={value}", action, *more, f"{url}/repository.git", *where],
                          env=git_settings(world.place.folder))
    if action == "clone" and result.status == 0:
        result.stdout += f"Cloning into: {sorted(os.listdir(world.place.folder / 'clone'))}\n"
    return result


def apt(side, world, content, host):
    """apt's own folders are below the place of the case."""
    folder = world.place.folder / "apt"
    for name in ("etc/apt/preferences.d", "lists/partial", "cache/archives/partial", "state"):
        (folder / name).mkdir(parents=True)
    (folder / "state" / "status").write_text("")
    settings = {"Dir": folder, "Dir::Etc": folder / "etc/apt", "Dir::State": folder / "state",
                "Dir::State::Lists": folder / "lists", "Dir::State::status": folder / "state" / "status",
                "Dir::Cache": folder / "cache", "APT::Sandbox::User": "root",
                "Acquire::https::CAInfo": world.pki.bundle, "Acquire::Languages": "none", "Acquire::Retries": "0",
                "Dir::Bin::methods": "/usr/lib/apt/methods", "Acquire::https::Timeout": STEP_SECONDS}
    with files_server(world, content, host) as url:
        (folder / "etc/apt/sources.list").write_text(f"deb [trusted=yes] {url}/debian ./\n")
        return side.run([APT, "-q", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}")),
                         "-o", "APT::Update::Error-Mode=any", "update"], env={"APT_CONFIG": "/dev/null"})

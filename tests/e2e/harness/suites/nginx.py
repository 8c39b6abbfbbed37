"""Debian's nginx as the program under test: client certificates, upstream verification, start-up errors."""

import pathlib
import signal
import subprocess
import time

from cases import Case
from pki import SYSTEM_BUNDLE
from servers import NGINX, nginx_config, wait_for_port
from sides import STEP_SECONDS, Result, environment

CLIENT_CERTIFICATES = """  server {{
    listen 127.0.0.1:{port} ssl; ssl_certificate {good}; ssl_certificate_key {key};
    {names} {bundle}; ssl_verify_client {mode}; ssl_verify_depth 3;
    location / {{ return 200 "$ssl_client_verify $ssl_client_s_dn\\n"; }}
  }}
"""
UPSTREAM = """  server {{
    listen 127.0.0.1:{port};
    proxy_ssl_verify on; proxy_ssl_verify_depth 3; proxy_ssl_server_name on; proxy_ssl_name localhost;
    proxy_ssl_trusted_certificate {bundle};
    location /good {{ proxy_pass https://127.0.0.1:{ports[good]}/; }}
    location /wrong {{ proxy_pass https://127.0.0.1:{ports[wrong]}/; }}
    location /untrusted {{ proxy_pass https://127.0.0.1:{ports[untrusted]}/; }}
  }}
"""


def cases(world):
    pki = world.pki
    for directive, mode in (("ssl_client_certificate", "on"), ("ssl_client_certificate", "optional")):
        shows = (r"client: 200 .*SUCCESS CN=client", r"stranger: 400 .*The SSL certificate error",
                 r"none: 400 .*No required" if mode == "on" else r"none: 200 .*NONE")
        yield Case(f"nginx: {directive}, ssl_verify_client {mode}", lambda side, directive=directive, mode=mode: serve(
            side, world, CLIENT_CERTIFICATES, client_certificates, names=directive, mode=mode), shows=shows,
            random=("nginx-log",))
    yield Case("nginx: CA names on the wire", lambda side: serve(
        side, world, CLIENT_CERTIFICATES, ca_names, names="ssl_client_certificate", mode="on"),
        shows=(r"CN = Windlass Test Root", r"CN = ISRG Root X1", f"{pki.name_count} names"), random=("nginx-log",))
    yield Case("nginx: proxy_ssl_verify", lambda side: serve(side, world, UPSTREAM, upstream),
               shows=(r"good: 200 hello from good", r"wrong: 502", r"untrusted: 502",
                      "upstream SSL certificate verify error",
                      "upstream SSL certificate does not match"), random=("nginx-log",))
    yield Case("nginx: reload with a shorter bundle", lambda side: serve(
        side, world, CLIENT_CERTIFICATES, reload, live=True, names="ssl_client_certificate", mode="on"),
        shows=(r"before: 200", r"after: 400"), random=("nginx-log",))
    # The stock nginx is reloaded after each change, the other never.
    yield Case("nginx: upstreams, followed without a reload", lambda side: serve(
        side, world, UPSTREAM, lambda *given: changes(*given, reloads=side.name == "stock"), live=True,
        env={"WINDLASS_FOLLOW": "1"}),
        shows=(r"with the root: 200.*, 502.*, 200", r"without it: 502", r"with both: 200.*, 200.*, 200",
               r"with the root again: 200.*, 502.*, 200", r"with the other: 502.*, 200.*, 502"),
        counts=("openssl/stores-made-anew",), random=("nginx-log",))
    for name, path, bypassed in (("a missing", "/nowhere/bundle.pem", "unreadable"),
                                 ("a broken", pki.broken, "unsupported-content"),
                                 ("an empty", pki.empty, "unsupported-content")):
        yield Case(f"nginx: -t with {name} ssl_client_certificate", lambda side, path=path: check(side, world, path),
                   status=1, shows=(r"\[emerg\].*bundle.pem|\[emerg\].*(broken|empty).pem",), served=None,
                   bypassed=bypassed, random=("nginx-log",))


def configure(world, template, bundle, **values):
    """Port and configuration file, in a place that is the same on both sides."""
    pki, folder = world.pki, world.place.folder
    port = world.port
    servers = template.format(port=port, good=pki.path("good.pem"), key=pki.path("good.key"), bundle=bundle,
                              ports=world.hosts.ports, **values)
    config = folder / "nginx.conf"
    config.write_text(nginx_config(folder, servers))
    return port, [NGINX, "-e", "stderr", "-p", folder, "-c", config]


def serve(side, world, template, talk, live=False, env=None, **values):
    """Starts nginx with a worker process, lets `talk` collect lines, ends it."""
    bundle = world.pki.bundle
    if live:
        bundle = world.place.folder / "live.pem"
        bundle.write_bytes(world.pki.bundle.read_bytes())
    port, argv = configure(world, template, bundle, **values)
    with side.start(argv, env) as running:
        wait_for_port(port, running.process)
        lines = talk(world, port, running)
        result = running.stop(signal.SIGTERM)
    return Result(result.status, result.stdout + "\n".join(lines) + "\n", result.stderr, result.counters)


def check(side, world, path):
    _, argv = configure(world, CLIENT_CERTIFICATES, path, names="ssl_client_certificate", mode="on")
    return side.run([*argv, "-t"])


def client_certificates(world, port, _running):
    return [f"{name}: {get(world, port, name)}" for name in ("client", "stranger", "none", "client")]


def get(world, port, name):
    """With a stock curl."""
    certificate = [] if name == "none" else ["--cert", world.pki.path(name + ".pem"), "--key",
                                             world.pki.path(name + ".key")]
    return curl(f"https://localhost:{port}/", "--cacert", world.pki.bundle, *certificate)


def curl(url, *options):
    done = subprocess.run(["/usr/bin/curl", "-sS", "-w", "%{http_code} ", *options, url], timeout=STEP_SECONDS,
                          encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(None))
    body, code = done.stdout[:-4], done.stdout[-4:]
    return f"{code}{' '.join(body.split())}"


def ca_names(world, port, _running):
    done = subprocess.run(["/usr/bin/openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{port}", "-CAfile",
                           world.pki.bundle],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=STEP_SECONDS, encoding="utf-8", env=environment(None))
    begin = done.stdout.index("Acceptable client certificate CA names")
    names = done.stdout[begin:done.stdout.index("\nClient Certificate Types", begin)].splitlines()
    return [*names, f"{len(names) - 1} names"]


def upstream(_world, port, _running):
    return [f"{name}: {curl(f'http://127.0.0.1:{port}/{name}')}" for name in ("good", "wrong", "untrusted", "good")]


def reload(world, port, running):
    """The trusted root leaves the bundle; nginx reads it again on SIGHUP, under new worker processes."""
    lines = ["before: " + get(world, port, "client")]
    (world.place.folder / "live.pem").write_bytes(SYSTEM_BUNDLE.read_bytes())
    read_again(running)
    lines.append("after: " + get(world, port, "client"))
    return lines


def changes(world, port, running, reloads):
    """The bundle changes as an administrator or a package changes it: replaced, or written to."""
    live, fresh = world.place.folder / "live.pem", world.place.folder / "fresh.pem"
    root, other = (world.pki.path(name).read_bytes() for name in ("root.crt", "other.crt"))
    lines = []
    for title, content in (("with the root", None), ("without it", SYSTEM_BUNDLE.read_bytes()),
                           ("with both", root + other), ("with the root again", root), ("with the other", other)):
        if content is not None:
            fresh.write_bytes(content)
            fresh.rename(live)
            if reloads:
                read_again(running)
        lines.append(f"{title}: {ask(port, 'good')}, {ask(port, 'untrusted')}, {ask(port, 'good')}")
    return lines


def ask(port, name):
    return curl(f"http://127.0.0.1:{port}/{name}")


def read_again(running):
    old = workers(running.process.pid)
    assert old, "no worker process of nginx was found"
    running.process.send_signal(signal.SIGHUP)
    # For a moment old and new workers answer side by side.
    deadline = time.monotonic() + STEP_SECONDS
    while time.monotonic() < deadline and old & workers(running.process.pid):
        time.sleep(0.05)


def workers(session):
    """The worker processes in the session of a server under test."""
    found = set()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            is_worker = (folder / "cmdline").read_bytes().startswith(b"nginx: worker process")
            # Behind the name, which may hold anything: state, parent, group, session (proc(5)).
            if is_worker and int((folder / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                found.add(folder.name)
        except OSError:
            pass  # it has ended
    return found

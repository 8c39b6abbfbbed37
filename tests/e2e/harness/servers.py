"""The TLS server that the programs under test talk to: one stock nginx with three names' worth of certificates."""

import os
import socket
import subprocess
import time

from sides import STEP_SECONDS, die_with_parent, environment

NGINX = "/usr/sbin/nginx"
HEAD = """daemon off; pid {folder}/nginx.pid; error_log {log}; {user}
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
"""
SERVER = """  server {{
    listen 127.0.0.1:{port} ssl; ssl_certificate {chain}; ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3; keepalive_timeout 30; client_header_timeout 600;
    location / {{ return 200 "hello from {name}\\n"; }}
  }}
"""


def nginx_config(folder, servers, log="stderr", workers=True):
    """An nginx configuration whose every file stays below `folder`."""
    user = "user root;" if os.geteuid() == 0 else ""
    if not workers:
        user += " master_process off;"
    return HEAD.format(folder=folder, log=log, user=user) + servers + "}\n"


_reserved = []  # sockets that keep a port from everybody else on the machine


class Hosts:
    """`ports[name]` for the certificates good, wrong and untrusted, all answering as https://localhost:<port>/."""

    NAMES = ("good", "wrong", "untrusted")

    def __init__(self, pki, folder):
        folder.mkdir()
        self.ports = {name: reserve_port() for name in self.NAMES}
        servers = "".join(SERVER.format(port=self.ports[name], chain=pki.path(name + ".pem"),
                                        key=pki.path(name + ".key"), name=name) for name in self.NAMES)
        config = folder / "nginx.conf"
        config.write_text(nginx_config(folder, servers, log=folder / "error.log", workers=False))
        self.process = subprocess.Popen([NGINX, "-e", folder / "error.log", "-p", folder, "-c", config],
                                        env=environment(None), stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
        for port in self.ports.values():
            wait_for_port(port, self.process)

    def url(self, name):
        return f"https://localhost:{self.ports[name]}/"

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=STEP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def reserve_port():
    """A port of the loopback interface that nobody else gets as long as this program runs. Servers can listen on it:
    they set SO_REUSEADDR as well, and this socket never listens (socket(7))."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    _reserved.append(held)
    return held.getsockname()[1]


def wait_for_port(port, process, seconds=STEP_SECONDS):
    """Until something listens; a server that ended instead is an error."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AssertionError(f"the server ended with status {process.returncode} before it listened")
        if is_listening(port):
            return
        time.sleep(0.02)
    raise AssertionError(f"nothing listens on port {port}")


def is_listening(port):
    """Asked of the kernel, because a probing connection would show up in the server's own output."""
    wanted = f":{port:04X}"
    lines = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if os.path.exists(table):
            with open(table, encoding="ascii") as entries:
                lines += list(entries)[1:]
    return any(line.split()[1].endswith(wanted) and line.split()[3] == "0A" for line in lines)

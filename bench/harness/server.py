"""nginx on a free port of the loopback interface, with a certificate \
whose root is added to a copy of Debian's bundle."""

import ctypes
import os
import signal
import socket
import subprocess
import time

from measure import environment
from roots import run as openssl

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
CONFIG = """daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log; {user}
events {{ worker_connections 1024; }}
http {{
  access_log off;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{
    listen 127.0.0.1:{port} ssl; ssl_certificate {folder}/leaf.pem; ssl_certificate_key {folder}/leaf.key;
    ssl_protocols TLSv1.3;
    location / {{ return 200 "hello\\n"; }}{locations}
    location /repository.git/ {{ root {folder}; }}
  }}
}}
"""
EXTENSIONS = "basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth\nsubjectAltName=DNS:localhost\n"


class Server:
    """A context manager; `url` and `bundle` (Debian's with the test root) are what a client needs."""

    def __init__(self, folder, locations=""):
        folder.mkdir()
        self.folder, self.port = folder, free_port()
        self.url, self.bundle = f"https://localhost:{self.port}/", folder / "bundle.pem"
        self._certificates()
        user = "user root;" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(CONFIG.format(folder=folder, port=self.port, user=user, locations=locations))

    def _certificates(self):
        at = lambda name: str(self.folder / name)
        for name, subject in (("root", "/CN=Windlass Bench Root"), ("leaf", "/CN=localhost")):
            openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", at(name + ".key"))
            extra = ("-x509",) if name == "root" else ()
            openssl("req", *extra, "-new", "-key", at(name + ".key"), "-subj", subject, "-days", "30",
                    "-out", at("root.pem" if name == "root" else "leaf.csr"))
        (self.folder / "leaf.ext").write_text(EXTENSIONS)
        openssl("x509", "-req", "-in", at("leaf.csr"), "-CA", at("root.pem"), "-CAkey", at("root.key"),
                "-CAcreateserial", "-days", "30", "-extfile", at("leaf.ext"), "-out", at("leaf.pem"))
        with open(BUNDLE, "rb") as bundle:
            self.bundle.write_bytes(bundle.read() + (self.folder / "root.pem").read_bytes())

    def __enter__(self):
        self.process = subprocess.Popen(["/usr/sbin/nginx", "-e", self.folder / "error.log", "-p", self.folder,
                                         "-c", self.folder / "nginx.conf"], env=environment(), stdin=subprocess.DEVNULL,
                                        preexec_fn=die_with_parent)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    # Past the time in which the cache does not believe a new file.
                    time.sleep(3)
                    return self
            time.sleep(0.05)
        raise SystemExit("nginx does not listen")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=10)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)

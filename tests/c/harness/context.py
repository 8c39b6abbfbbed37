"""What the cases share: the installed library, compiled programs, certificates, TLS servers."""

import functools
import http.server
import os
import pathlib
import ssl
import subprocess
import threading

import builds
import pki
from generate import forge

TESTS = pathlib.Path(__file__).resolve().parents[1]
ROOT = TESTS.parents[1]
PROGRAMS, EXAMPLES = TESTS / "programs", ROOT / "examples/c"
STRICT = ("-Wall", "-Wextra", "-pedantic", "-Werror")


class Context:
    def __init__(self, folder):
        self.folder = folder
        self.prefix = folder / "prefix"
        subprocess.run([ROOT / "packaging/c/install.sh", self.prefix], check=True)
        self.library = self.prefix / "lib/libwindlass.so.0"
        self.preload = self.prefix / "lib/windlass/libwindlass_preload.so"

    def fresh(self, name):
        """A folder for a case."""
        folder = self.folder / name.replace(" ", "-")
        folder.mkdir()
        return folder

    @functools.cached_property
    def pki(self):
        return pki.Pki(self.folder / "pki")

    @functools.cached_property
    def signer(self):
        return forge.Signer(builds.signer())

    @functools.cached_property
    def hosts(self):
        """TLS servers by the name of their certificate."""
        return {name: Server(self.pki.path(name + ".pem"), self.pki.path(name + ".key"))
                for name in ("good", "wrong", "untrusted")}

    def flags(self, *packages):
        """What pkg-config says of the installed library and others."""
        said = subprocess.run(["pkg-config", "--cflags", "--libs", "windlass", *packages], check=True, text=True,
                              stdout=subprocess.PIPE,
                              env={**os.environ, "PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig")})
        return [*said.stdout.split(), f"-Wl,-rpath,{self.prefix / 'lib'}"]

    def compile(self, source, *more, name=None, build="system", packages=()):
        """The program that comes of one source file and these arguments."""
        program = self.folder / (name or f"{source.stem}-{build}")
        if not program.exists():
            subprocess.run(["gcc", "-std=c11", "-O1", "-g", "-D_GNU_SOURCE", *STRICT, *system_headers(build), source,
                            "-o", program, *more, *self.flags(*packages), *more], check=True)
        return program

    def test_program(self, name, build="system"):
        return self.compile(PROGRAMS / f"{name}.c", "-lssl", "-lcrypto", "-pthread", "-ldl", build=build)

    def run(self, *arguments, status=0, **variables):
        """What a program prints. It must end with this status, and with 0 say nothing on standard error."""
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "SSL_CERT_FILE": str(self.pki.bundle),
                       "SSL_CERT_DIR": "/nonexistent", "WINDLASS_STORE": "",
                       **{name: str(value) for name, value in variables.items()}}
        ended = subprocess.run(list(map(str, arguments)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment, timeout=600, errors="replace")
        assert ended.returncode == status and (ended.stderr == "" or status != 0), \
            f"{arguments}: status {ended.returncode}\n{ended.stdout}{ended.stderr}"
        return ended.stdout + ended.stderr


def system_headers(build):
    """Compiler arguments for an OpenSSL build; what its own headers do is not our concern."""
    return [flag.replace("-I", "-isystem", 1) for flag in builds.flags_for(build)]


class Server:
    """Answers every request on a port of the loopback interface, until the tests end."""

    def __init__(self, chain, key):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, key)
        self.server = Quiet(("127.0.0.1", 0), Answer)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A client that refuses the certificate is no news."""


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello\n")

    def log_message(self, *_):
        pass

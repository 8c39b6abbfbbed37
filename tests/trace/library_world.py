"""What the tests of the trace library run in: certificates, a TLS server, compiled programs, and how a program is run
and traced."""

import hashlib
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import threading

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
BUNDLE = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
CLEAN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
WARNINGS = ("-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations", "-pthread")
ANSWER = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n"
TARGET = pathlib.Path(os.environ.get("WINDLASS_TEST_TARGET", TESTS.parent / "target"))


class World:
    """A folder, a server whose root is in `bundle` beside Debian's, and the programs."""

    def __init__(self, folder, library):
        self.folder, self.library = folder, library
        self.handshakes, self.changed = 0, threading.Condition()
        self._certificates()
        self.built = {}

    def __enter__(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "leaf.pem", self.folder / "leaf.key")
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.url = f"https://localhost:{self.port}/"
        threading.Thread(target=self._serve, args=(context,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _serve(self, context):
        while True:
            try:
                plain, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(context, plain), daemon=True).start()

    def _answer(self, context, plain):
        try:
            with context.wrap_socket(plain, server_side=True) as tls:
                # Only what the client has sent after its own Finished shows that it was content.
                if tls.recv(65536):
                    with self.changed:
                        self.handshakes += 1
                        self.changed.notify_all()
                    tls.sendall(ANSWER)
                    tls.unwrap()
        except OSError:
            pass

    def _certificates(self):
        at = lambda name: str(self.folder / name)  # noqa: E731
        for name, subject in (("root", "/CN=Windlass Trace Root"), ("leaf", "/CN=localhost")):
            openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", at(name + ".key"))
            extra = ("-x509", "-out", at("root.pem")) if name == "root" else ("-out", at("leaf.csr"))
            openssl("req", "-new", "-key", at(name + ".key"), "-subj", subject, "-days", "30", *extra)
        (self.folder / "leaf.ext").write_text("basicConstraints=critical,CA:FALSE\nsubjectAltName=DNS:localhost\n")
        openssl("x509", "-req", "-in", at("leaf.csr"), "-CA", at("root.pem"), "-CAkey", at("root.key"),
                "-CAcreateserial", "-days", "30", "-extfile", at("leaf.ext"), "-out", at("leaf.pem"))
        root = (self.folder / "root.pem").read_text()
        self.bundle = self.folder / "bundle.pem"
        self.bundle.write_text(BUNDLE.read_text() + root)
        self.roots = self.bundle.read_text().count("-----BEGIN CERTIFICATE-----")
        self.anchor = hashlib.sha256(ssl.PEM_cert_to_DER_cert(root)).hexdigest()
        # A hashed directory of two certificates.
        self.capath = self.folder / "capath"
        self.capath.mkdir()
        first = BUNDLE.read_text().split("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\n"
        (self.capath / "one.pem").write_text(first)
        (self.capath / "two.pem").write_text(root)
        openssl("rehash", str(self.capath))
        self.few = self.folder / "few.pem"
        self.few.write_text(first + root)

    def c(self, source, *libraries, name=None, flags=()):
        """A compiled C program."""
        source = pathlib.Path(source)
        target = self.folder / (name or source.stem)
        if target not in self.built:
            command = ["gcc", *WARNINGS, *flags, "-o", target, source, *libraries]
            subprocess.run([str(part) for part in command], check=True)
            self.built[target] = target
        return target

    def crystal(self):
        """The Crystal client of the end-to-end tests; it takes long to build, and is kept."""
        source = TESTS / "e2e" / "programs" / "client.cr"
        target = TARGET / "trace" / "client-cr"
        if not target.exists() or target.stat().st_mtime <= source.stat().st_mtime:
            target.parent.mkdir(parents=True, exist_ok=True)
            env = CLEAN | {"CRYSTAL_CACHE_DIR": str(target.parent / "crystal-cache")}
            subprocess.run(["crystal", "build", "--no-color", "-o", str(target), str(source)], env=env, check=True)
        return target

    def run(self, command, env=None, **more):
        """A run without the library; the result with its output as bytes."""
        return subprocess.run([str(part) for part in command], env=CLEAN | (env or {}), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=300, **more)

    def trace(self, command, env=None, file=None, **more):
        """A run with the library: (result, events)."""
        file = file or self.fresh()
        done = self.run(command, {"LD_PRELOAD": str(self.library), "WINDLASS_TRACE": str(file)} | (env or {}), **more)
        return done, events_of(file)

    def fresh(self):
        """A new event file."""
        file = self.folder / "events"
        file.write_bytes(b"")
        file.chmod(0o600)
        return file

    def handshakes_of(self, run):
        """The result of `run`, and how many handshakes the server has seen meanwhile."""
        before = self.handshakes
        return run(), self.handshakes - before


def events_of(file):
    text = pathlib.Path(file).read_text()
    assert not text or text.endswith("\n"), "the last line is not whole"
    return [json.loads(line) for line in text.splitlines()]


def of(events, kind):
    return [event for event in events if event["e"] == kind]


def openssl(*arguments):
    done = subprocess.run(["/usr/bin/openssl", *arguments], env=CLEAN, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def tool(name):
    found = shutil.which(name, path=CLEAN["PATH"])
    assert found, f"{name} is not installed"
    return found

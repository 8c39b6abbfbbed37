"""Servers whose workers are forked: gunicorn and uWSGI of the interpreter's Debian.

Each is asked until all its workers have answered: with the bundle as it was, with our root removed while it runs, with
the root back, and after a reload. What the workers found must be what those of the server without Windlass found.
"""

import concurrent.futures
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

from context import PROGRAMS

WORKERS = 2
# Far more than anything here takes on a busy machine; nothing is concluded from how long it took.
BOUND = 120


@contextlib.contextmanager
def https(authority):
    """The port of a server that says hello to whoever trusts the authority."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(authority.chain)
    listening = socket.create_server(("127.0.0.1", 0))
    done = False

    def serve():
        while not done:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError), tls.wrap_socket(connection, server_side=True) as client:
                client.recv(4096)
                client.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\nhello\n")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        done = True
        socket.create_connection(listening.getsockname()).close()
        thread.join()
        listening.close()


class Server:
    """A server that listens on a socket in `folder`."""

    def __init__(self, context, folder, command, where, port, **variables):
        self.bundle = folder / "bundle.pem"
        self.authority = context.authority
        self.trust(self.authority.bundle)
        self.socket, self.log = folder / "socket", folder / "log"
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(folder),
                       "PYTHONPATH": str(PROGRAMS), "PYTHONDONTWRITEBYTECODE": "1", "SSL_CERT_FILE": str(self.bundle),
                       "SSL_CERT_DIR": "/nonexistent", "ATTACH": where, "HTTPS_PORT": str(port),
                       **{name: str(value) for name, value in variables.items()}}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*map(str, command)], cwd=folder, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=environment)

    def trust(self, bundle):
        new = self.bundle.with_suffix(".new")
        shutil.copyfile(bundle, new)
        os.replace(new, self.bundle)

    def ask(self, _=None):
        """What a worker says; None while the server starts."""
        connection = http.client.HTTPConnection("localhost", timeout=BOUND)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(BOUND)
        with contextlib.closing(connection):
            try:
                connection.sock.connect(str(self.socket))
                connection.request("GET", "/")
                return json.loads(connection.getresponse().read())
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
                return None

    def everybody(self, but=()):
        """What each worker says; none of the processes `but`."""
        said = {}
        end = time.monotonic() + BOUND
        with concurrent.futures.ThreadPoolExecutor(2 * WORKERS) as threads:
            while len(said) < WORKERS:
                assert self.process.poll() is None and time.monotonic() < end, \
                    f"{len(said)} workers have answered\n{self.log.read_text()}"
                answers = list(filter(None, threads.map(self.ask, range(2 * WORKERS))))
                said.update({answer["process"]: answer for answer in answers if answer["process"] not in but})
        return said

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(BOUND)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it does not end\n{self.log.read_text()}") from None
        log = self.log.read_text()
        assert "Traceback" not in log and "egmentation" not in log, log
        return status


def rounds(server, attach, may_be_unlisted):
    """What was found, step by step.

    `may_be_unlisted`: the library is in the server before it forks. Some servers (gunicorn 26) have threads by then,
    and what a worker loads is not seen.
    """
    verdicts = []

    def check(expected, but=()):
        said = server.everybody(but)
        for answer in said.values():
            assert answer["verdicts"] == expected, answer
            verdicts.append(answer["verdicts"])
            if attach:
                assert answer["attach"] in attach, answer
                if not may_be_unlisted or "forked" not in (answer["reason"] or ""):
                    assert answer["served"] == 2 and answer["reason"] is None, answer
        return said

    old = check([True, False])
    server.trust(server.authority.other)
    check([False, False])
    server.trust(server.authority.bundle)
    check([True, False])
    server.process.send_signal(signal.SIGHUP)
    new = check([True, False], but=old)
    assert not set(old) & set(new)
    return verdicts


def compare(context, name, command, exits):
    """`exits`: the status with which it ends."""
    with https(context.authority) as port:
        found = {}
        for where, attach, variables in (
            ("never", (), {}), ("import", ("already",), {}), ("worker", ("attached", "already"), {}),
            ("worker", ("already",), {"LD_PRELOAD": context.library}),
        ):
            server = Server(context, context.fresh(f"{name}-{where}"), command, where, port, **variables)
            try:
                found[(where, *variables)] = rounds(server, attach, bool(variables))
            except AssertionError as error:
                raise AssertionError(f"{name}, {where} {variables}: {error}") from None
            finally:
                status = server.end()
            assert status == exits, (where, status, server.log.read_text())
        assert all(verdicts == found[("never",)] for verdicts in found.values()), found


def of_debian(context):
    """Whether the interpreter is Debian's, for which Debian's servers are made."""
    return os.path.realpath(context.interpreter) == os.path.realpath("/usr/bin/python3")


def gunicorn(context):
    if not of_debian(context):
        return "not tried: Debian's gunicorn is for Debian's Python"
    packages = context.ask("import windlass; print(windlass.__path__[0])") + "/.."
    command = [context.interpreter, "-m", "gunicorn", "--bind", "unix:socket", "--workers", WORKERS, "--pythonpath",
               packages, "--worker-tmp-dir", ".", "application:application"]
    compare(context, "gunicorn", command, 0)
    compare(context, "gunicorn-preload", [*command[:3], "--preload", *command[3:]], 0)
    return None


def uwsgi(context):
    if not of_debian(context):
        return "not tried: Debian's uWSGI is for Debian's Python"
    packages = context.ask("import windlass; print(windlass.__path__[0])") + "/.."
    command = ["/usr/bin/uwsgi", "--plugin", "python3", "--master", "--processes", WORKERS, "--http-socket", "socket",
               "--need-app", "--die-on-term", "--python-path", packages, "--module", "application"]
    compare(context, "uwsgi", command, 0)
    compare(context, "uwsgi-lazy", [*command, "--lazy-apps", "--enable-threads"], 0)
    return None


CASES = [("gunicorn", gunicorn), ("uWSGI", uwsgi)]

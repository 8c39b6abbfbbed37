"""HTTPS servers of the clients' cases, in threads of the harness: a page, STS's answer, and an index for pip."""

import http.server
import io
import ssl
import threading
import zipfile

STS = (b'<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>'
       b"<Arn>arn:aws:iam::123456789012:user/test</Arn><UserId>test</UserId><Account>123456789012</Account>"
       b"</GetCallerIdentityResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>"
       b"</GetCallerIdentityResponse>")
WHEEL = "windlass_demo-1-py3-none-any.whl"


def wheel():
    """The smallest package that pip downloads."""
    made, info = io.BytesIO(), "windlass_demo-1.dist-info"
    with zipfile.ZipFile(made, "w") as file:
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: windlass-demo\nVersion: 1\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return made.getvalue()


PAGES = {"/": ("text/plain", b"hello\n"), f"/simple/windlass-demo/{WHEEL}": ("application/zip", wheel()),
         "/simple/windlass-demo/": ("text/html", f'<!DOCTYPE html><a href="{WHEEL}">{WHEEL}</a>'.encode())}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(*PAGES.get(self.path, ("text/plain", b"")), 200 if self.path in PAGES else 404)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer("text/xml", STS, 200)

    def answer(self, kind, content, status):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that refuses the server ends the handshake."""


class Server:
    """A context manager; `port` is where it listens."""

    def __init__(self, chain):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        self.server = Quiet(("127.0.0.1", 0), Handler)
        # The handshake belongs to the thread of the connection.
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_port

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

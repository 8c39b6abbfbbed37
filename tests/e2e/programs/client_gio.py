"""client_gio.py PORT [CAFILE]: a GTlsClientConnection (glib-networking) to localhost, with a GTlsFileDatabase or the
system's."""

import sys

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib  # noqa: E402

assert "Gnutls" in type(Gio.TlsBackend.get_default()).__name__, Gio.TlsBackend.get_default()


def refuse(connection, certificate, errors):
    """Shown the certificate and what is wrong with it."""
    print("refused:", certificate.get_subject_name(), errors, flush=True)
    return False


def connect(port, database):
    base = Gio.SocketClient().connect_to_host("127.0.0.1", port)
    connection = Gio.TlsClientConnection.new(base, Gio.NetworkAddress.new("localhost", port))
    if database:
        connection.set_database(database)
    connection.connect("accept-certificate", refuse)
    connection.handshake()
    connection.get_output_stream().write_all(b"GET / HTTP/1.0\r\n\r\n")
    answer = b""
    while chunk := connection.get_input_stream().read_bytes(4096).get_data():
        answer += chunk
    print(answer.rpartition(b"\r\n\r\n")[2].decode(), end="", flush=True)


def main(port, cafile=None):
    try:
        database = Gio.TlsFileDatabase.new(cafile) if cafile else None
        for _ in range(2):
            connect(int(port), database)
    except GLib.Error as error:
        print(error.domain, error.code, error.message)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

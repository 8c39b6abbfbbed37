"""client.py PORT FILE: two GETs, each with a context of its own."""
import socket
import ssl
import sys


def context():
    return ssl.create_default_context(cafile=sys.argv[2])


for turn in range(2):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as plain:
        with context().wrap_socket(plain, server_hostname="localhost") as tls:
            tls.sendall(b"GET / HTTP/1.0\r\n\r\n")
            print(tls.recv(4096).split(b"\r\n\r\n")[1])

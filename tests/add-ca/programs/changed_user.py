"""changed_user.py PORT: as nginx's workers do, gives root up first, then makes a context and connects."""

import os
import socket
import ssl
import sys

os.setgid(65534)
os.setuid(65534)
context = ssl.create_default_context()
with context.wrap_socket(socket.create_connection(("localhost", int(sys.argv[1]))),
                         server_hostname="localhost") as connection:
    print(connection.version())

"""grpc_client.py PORT: what the server says to a call; it has no such method, and says so."""

import sys

import grpc

channel = grpc.secure_channel(f"localhost:{sys.argv[1]}", grpc.ssl_channel_credentials())
try:
    channel.unary_unary("/windlass.Test/Hello")(b"", timeout=300)
except grpc.RpcError as error:
    print(error.code(), error.details())
    sys.exit(error.code() != grpc.StatusCode.UNIMPLEMENTED)

"""A TLS handshake in memory: whether a client context accepts the server of the test's authority."""

import os
import ssl


def server_context():
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(os.environ["CHAIN"])
    return server


def accepts(client, hostname="localhost", server=None):
    server = server or server_context()
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=hostname)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    done = set()
    for _ in range(10):
        for side in (ours, theirs):
            try:
                side.do_handshake()
                done.add(side)
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLCertVerificationError as error:
                assert side is ours, error
                return False
        if len(done) == 2:
            return True
    raise AssertionError("the handshake does not end")


def served():
    """How often a default context was served."""
    import windlass

    return windlass.status().served.get("X509_STORE_set_default_paths", 0)

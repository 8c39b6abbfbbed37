"""A WSGI application whose workers ask a server on this machine over HTTPS, each time with a fresh context.

ATTACH says where it attaches: "import", as the module is imported; "worker", in its first request; or "never".
"""

import json
import os
import ssl
import urllib.error
import urllib.request

if os.environ["ATTACH"] != "never":
    import windlass

if os.environ["ATTACH"] == "import":
    windlass.attach()


def ask(host):
    """Whether an HTTPS connection to this name is accepted."""
    try:
        opened = urllib.request.urlopen(f"https://{host}:{os.environ['HTTPS_PORT']}/",
                                        context=ssl.create_default_context(), timeout=60)
        return opened.read() == b"hello\n"
    except urllib.error.URLError as error:
        assert isinstance(error.reason, ssl.SSLCertVerificationError), error
        return False


def application(environ, start_response):
    said = {"process": os.getpid()}
    if os.environ["ATTACH"] != "never":
        said["attach"] = windlass.attach()
        before = sum(windlass.status().served.values())
    said["verdicts"] = [ask("localhost"), ask("127.0.0.1")]
    if os.environ["ATTACH"] != "never":
        status = windlass.status()
        said["served"] = sum(status.served.values()) - before
        said["reason"] = status.reason
    body = json.dumps(said).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]

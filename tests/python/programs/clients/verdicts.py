"""verdicts.py KIND stock|attach URL ...: whether this client accepts each server, or OpenSSL's reason, and what was
served, as JSON. Each URL is asked by two clients, one after the other.
"""

import json
import os
import re
import ssl
import sys

status = None
if sys.argv[2] == "attach":
    import windlass

    assert windlass.attach() == "attached", windlass.status()
    status = windlass.status

from kinds import KINDS


def verdict(kind, url):
    os.environ["ENDPOINT"] = url
    client = kind.make()
    try:
        kind.ask(client, url)
        return "accepted"
    except Exception as error:
        return reason(error)
    finally:
        kind.close(client)


def reason(error):
    """What OpenSSL said of the certificate, or urllib3, which compares names itself for boto3.

    Some clients keep no more than the text.
    """
    seen, inner = [], error
    while inner is not None and inner not in seen:
        # aiohttp has a class of its own, without that attribute.
        if isinstance(inner, ssl.SSLCertVerificationError) and hasattr(inner, "verify_message"):
            return inner.verify_message
        seen.append(inner)
        inner = inner.__cause__ or inner.__context__ or getattr(inner, "reason", None)
        inner = inner if isinstance(inner, BaseException) else None
    found = re.search(r"(?<=verify failed: )[^(\n]*(?= \(_ssl)|hostname \S+ doesn't match \S+", str(error))
    if found is None:
        raise error
    return found[0]


kind = KINDS[sys.argv[1]]
said = [verdict(kind, url) for url in sys.argv[3:] for _ in range(2)]
found = status() if status else None
print(json.dumps({"verdicts": said, "served": sum(found.served.values()) if found else 0,
                  "bypassed": found.bypassed if found else {}}))

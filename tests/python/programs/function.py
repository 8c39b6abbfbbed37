"""A function of AWS Lambda that knows nothing of Windlass: which servers its clients accept, and what served them."""

import http.client
import json
import os
import ssl
import sys

from handshake import accepts


def handler(event, context):
    connection = http.client.HTTPSConnection("localhost")
    made = connection._context
    distrusting = ssl.create_default_context(cafile=os.environ["OTHER_BUNDLE"])
    windlass = sys.modules.get("windlass")
    status = windlass.status() if windlass else None
    return json.dumps({
        "verdicts": [accepts(made), accepts(made, "other.example"), accepts(distrusting)],
        "anchors": len(made.get_ca_certs()),
        "state": status and status.state,
        "counters": status.counters if status else {},
    })

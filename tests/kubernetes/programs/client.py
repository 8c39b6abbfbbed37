"""Fetches each URL that comes on standard input, with a new connection and context, as programs do by default."""

import sys
import urllib.error
import urllib.request

for url in sys.stdin:
    try:
        print(urllib.request.urlopen(url.strip(), timeout=60).status == 200 and "accepted", flush=True)
    except urllib.error.URLError as error:
        print("refused" if "CERTIFICATE_VERIFY_FAILED" in str(error) else error, flush=True)

"""One HTTPS GET: client.py urllib|http.client|requests URL [cafile|capath PATH]; an exception ends it as Python
does."""

import http.client
import ssl
import sys
import urllib.parse
import urllib.request


def context(trust):
    if not trust:
        return ssl.create_default_context()
    return ssl.create_default_context(**{trust[0]: trust[1]})


def with_urllib(url, trust):
    opened = urllib.request.urlopen(url, context=context(trust), timeout=300)
    return opened.status, opened.read().decode()


def with_http_client(url, trust):
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPSConnection(address.hostname, address.port, context=context(trust), timeout=300)
    connection.request("GET", "/")
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def with_requests(url, trust):
    import requests

    # A session that ignores .netrc and proxies would also ignore REQUESTS_CA_BUNDLE.
    try:
        answer = requests.get(url, timeout=300, **({"verify": trust[1]} if trust else {}))
    except requests.exceptions.SSLError as error:
        # The whole exception holds the address of a connection object.
        sys.exit(f"SSLError: {error.args[0].reason}")
    return answer.status_code, answer.text


how, url, *trust = sys.argv[1:]
status, text = {"urllib": with_urllib, "http.client": with_http_client, "requests": with_requests}[how](url, trust)
print(status, text.strip())

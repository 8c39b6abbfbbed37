"""cold_start.py PORT [attach|unverified]: a GET by http.client in a fresh Python, as of a function's cold start.

Prints as JSON the ns of `http.client.HTTPSConnection(…)` alone, and the monotonic clock when the answer was there.
"""

import json
import sys
import time

if sys.argv[2:] == ["attach"]:
    import windlass

    assert windlass.attach() == "attached"

import http.client
import ssl

begin = time.monotonic_ns()
# What HTTPSConnection makes by itself, if it is given none.
make = ssl._create_unverified_context if sys.argv[2:] == ["unverified"] else ssl.create_default_context
connection = http.client.HTTPSConnection("localhost", int(sys.argv[1]), context=make())
made = time.monotonic_ns() - begin
connection.request("GET", "/")
answer = connection.getresponse()
answer.read()
done = time.monotonic_ns()
assert answer.status == 200, answer.status
print(json.dumps({"made": made, "done": done}))

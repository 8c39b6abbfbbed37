"""Makes contexts, says which library made them, and waits."""

import ssl
import sys

for _ in range(int(sys.argv[1])):
    ssl.create_default_context()
print(ssl.OPENSSL_VERSION, flush=True)
sys.stdin.readline()

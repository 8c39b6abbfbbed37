"""A child of a process with threads imports `ssl`: an object that is loaded after the fork, where nobody can take the
linker's lock for sure, as the thread that had it may be gone (elf/dl-iteratephdr.c)."""

import ctypes
import os
import sys
import threading

ctypes.CDLL("libssl.so.3").SSL_CTX_new
threading.Thread(target=threading.Event().wait, daemon=True).start()
if os.fork() == 0:
    import ssl

    context = ssl.create_default_context(cafile=sys.argv[1])
    print(context.cert_store_stats(), len(context.get_ca_certs()), flush=True)
    os._exit(0)
print("status of the child:", os.wait()[1])

"""Children by fork, also while threads are inside this library, and by multiprocessing's spawn and forkserver."""

import multiprocessing
import os
import ssl
import threading

import windlass
from handshake import accepts, served


def child(expected):
    result = windlass.attach()
    assert result == expected, result
    before = served()
    assert accepts(ssl.create_default_context())
    assert not accepts(ssl.create_default_context(), "other.example")
    assert served() == before + 2, windlass.status()


def forked():
    process = os.fork()
    if process == 0:
        try:
            child("already")
            os._exit(0)
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
    return os.waitpid(process, 0)[1]


if __name__ == "__main__":
    assert windlass.attach() == "attached"
    assert forked() == 0
    stop = threading.Event()

    # Not with TLS in the threads, and with all modules imported: a child of stock Python waits for ever now and then
    # for a lock of OpenSSL's, or of an import, that another thread had.
    windlass.status()
    def ask():
        while not stop.is_set():
            assert windlass.attach() == "already" and windlass.status().state == "attached"

    threads = [threading.Thread(target=ask) for _ in range(3)]
    [thread.start() for thread in threads]
    try:
        # CPython itself warns of forks with threads since 3.12.
        import warnings

        warnings.simplefilter("ignore", DeprecationWarning)
        assert [forked() for _ in range(20)] == [0] * 20
    finally:
        stop.set()
        [thread.join() for thread in threads]
    for method, expected in (("spawn", "attached"), ("forkserver", "attached")):
        with multiprocessing.get_context(method).Pool(2) as pool:
            pool.map(child, [expected])

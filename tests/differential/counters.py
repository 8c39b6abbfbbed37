"""A page of counters as `windlass run --stats` makes one: what the library
counts in one run of a program."""

import contextlib
import fcntl
import mmap
import os
import struct

BYTES, WORD = 64 * 1024, 8
HEADER, SLOT = 8 * WORD, 8 * WORD
MAGIC, VERSION = struct.unpack("<Q", b"windlass")[0], 1
IN_USE = 2
F_ADD_SEALS, SEALS = 1033, 1 | 2 | 4  # no more seals, no shrinking, no growing


class Page:
    """`variable` is for the program's environment; `values` is read at any time. A program of another user can't reach
    our descriptors: it has to inherit `file`, and finds the page among its own."""

    def __init__(self, user=None):
        self.file = os.memfd_create("windlass-stats", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.file, BYTES)
        fcntl.fcntl(self.file, F_ADD_SEALS, SEALS)
        self.page = mmap.mmap(self.file, BYTES)
        self.page[:3 * WORD] = struct.pack("<3Q", MAGIC, VERSION, (BYTES - HEADER) // SLOT)
        process = os.getpid() if user is None else "self"
        if user is not None:
            os.fchown(self.file, user, user)
        self.variable = {"WINDLASS_STATS": f"/proc/{process}/fd/{self.file}"}

    def values(self):
        values = {}
        for at in range(HEADER, BYTES, SLOT):
            state, value, name = struct.unpack_from("<QQ48s", self.page, at)
            if state == IN_USE:
                label = name.rstrip(b"\0").decode()
                values[label] = values.get(label, 0) + value
        return values

    def close(self):
        self.page.close()
        os.close(self.file)


@contextlib.contextmanager
def page(user=None):
    made = Page(user)
    try:
        yield made
    finally:
        made.close()

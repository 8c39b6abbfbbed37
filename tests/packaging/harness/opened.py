"""Which files are opened, by any process in any namespace (inotify(7))."""

import ctypes
import os
import struct

IN_OPEN = 0x20
LIBC = ctypes.CDLL(None, use_errno=True)
HEADER = struct.Struct("iIII")


class Opened:
    """Looks from its creation on, at lists of paths that were given by name. What replaces a file later is another
    file."""

    def __init__(self, **paths):
        self.descriptor = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.names = {}
        for name, path in ((name, path) for name in paths for path in paths[name]):
            watch = LIBC.inotify_add_watch(self.descriptor, os.fsencode(path), IN_OPEN)
            if watch < 0:
                raise OSError(ctypes.get_errno(), f"can't watch {path}")
            self.names[watch] = name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.descriptor)

    def seen(self):
        """The names of those that were opened. How often is not known: the kernel makes one event of several equal
        ones."""
        found = set()
        while True:
            try:
                events = os.read(self.descriptor, 65536)
            except BlockingIOError:
                return found
            while events:
                watch, _, _, length = HEADER.unpack_from(events)
                found.add(self.names[watch])
                events = events[HEADER.size + length:]

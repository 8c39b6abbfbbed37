"""Where an extension module finds its TLS library, and whether that is one that Windlass can reach."""

import ctypes
import os
import sys
from typing import NamedTuple, Optional

# A function that every user of the library needs.
_FUNCTIONS = {"OpenSSL": "SSL_CTX_new", "GnuTLS": "gnutls_init"}


# The extension module behind `ssl`.
SSL = "_pypy_openssl" if sys.implementation.name == "pypy" else "_ssl"


class Found(NamedTuple):
    """A TLS library, as an extension module finds it."""

    name: str
    """"OpenSSL" or "GnuTLS"; a fork of OpenSSL has the same functions."""
    path: str


def library_of(file: Optional[str]) -> Optional[Found]:
    """The TLS library of an extension module by its file (None: built into the interpreter); None if it shows none,
    as when OpenSSL is linked into it statically.
    """
    for name, function in _FUNCTIONS.items():
        path = _object_of(function, file)
        if path is not None and not any(_is_same(path, own) for own in (file, sys.executable) if own):
            return Found(name, path)
    return None


def static_openssl() -> Optional[str]:
    """Why this interpreter's ssl module can't be served although it works; None if it can, or was not imported."""
    module = sys.modules.get(SSL)
    if module is None:
        return None
    file = getattr(module, "__file__", None)
    if library_of(file) is not None:
        return None
    return (
        f"OpenSSL is linked statically into {file or sys.executable}, where its calls can't be seen. "
        "Use windlass.shared_context() there"
    )


def _object_of(function: str, file: Optional[str]) -> Optional[str]:
    """The file that defines a function, as this object finds it (None: as the executable does)."""
    try:
        address = ctypes.cast(getattr(ctypes.CDLL(file), function), ctypes.c_void_p).value
    except (AttributeError, OSError):
        return None
    if address is None:
        return None
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            fields = line.rstrip("\n").split(None, 5)
            start, _, end = fields[0].partition("-")
            if len(fields) == 6 and int(start, 16) <= address < int(end, 16):
                return fields[5]
    return None


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False

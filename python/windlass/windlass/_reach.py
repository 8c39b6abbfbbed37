"""Where an extension module finds its TLS library, and whether that is one that Windlass can reach."""

import ctypes
import os
import sys
from typing import Iterable, NamedTuple, Optional

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


def why_not_reached(seen: Iterable[str], has_served: bool) -> Optional[str]:
    """Why this interpreter's ssl module can't be served; None if it can, or was not imported.

    `seen`: the files of the libraries that Windlass finds. A forked child is served though it can list none.
    """
    module = sys.modules.get(SSL)
    if module is None:
        return None
    file = getattr(module, "__file__", None)
    library = library_of(file)
    if library is None:
        return (
            f"OpenSSL is linked statically into {file or sys.executable}, where its calls can't be seen. "
            "Use windlass.shared_context() there"
        )
    if not has_served and not any(_is_same(library.path, path) for path in seen):
        return (
            f"{library.path} is not among the loaded objects that Windlass can list: something hides them, "
            "or this process was forked while other threads ran"
        )
    return None


class _Symbol(ctypes.Structure):
    """`Dl_info` of dladdr(3)."""

    _fields_ = [
        ("path", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def _object_of(function: str, file: Optional[str]) -> Optional[str]:
    """The file that defines a function, as this object finds it (None: as the executable does)."""
    try:
        address = ctypes.cast(getattr(ctypes.CDLL(file), function), ctypes.c_void_p)
    except (AttributeError, OSError):
        return None
    found = _Symbol()
    if not ctypes.CDLL(None).dladdr(address, ctypes.byref(found)) or found.path is None:
        return None
    path = os.fsdecode(found.path)
    # The linker knows the executable by its argv[0].
    return path if os.path.exists(path) else sys.executable


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False

"""What `_ctypes` has in CPython, made of ctypes: for other implementations of Python, and for sub-interpreters with a
lock of their own, where ctypes can't be imported.
"""

from typing import Any, Optional, Tuple


def dlopen(path: Optional[str], mode: int) -> Any:
    try:
        import ctypes
    except ImportError as error:
        raise OSError(f"ctypes can't be used in this interpreter: {error}") from None
    return ctypes.CDLL(path, mode)


def dlsym(library: Any, name: str) -> int:
    import ctypes

    try:
        return ctypes.cast(library[name], ctypes.c_void_p).value or 0
    except AttributeError as error:
        raise OSError(str(error)) from None


def call_function(address: int, arguments: Tuple[int, ...]) -> int:
    import ctypes

    result: int = ctypes.CFUNCTYPE(ctypes.c_int)(address)(*arguments)
    return result

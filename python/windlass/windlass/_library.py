"""Loads the preload library into this process, and calls its functions."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Literal, Optional

    State = Literal["detached", "attached", "disabled", "secure-execution", "audited"]
    Attached = Literal[
        "attached", "already", "disabled", "secure-execution", "audited", "failed", "unavailable"
    ]
    Detached = Literal["detached", "failed"]

# A module that is frozen into a program may have no file.
_FOLDER = os.path.dirname(os.path.abspath(__file__)) if "__file__" in globals() else ""
PATH = os.path.join(_FOLDER, "libwindlass_preload.so") if _FOLDER else ""

# Why the library could not be loaded.
failure: "Optional[str]" = None

_NAMES = tuple(f"windlass_preload_{what}" for what in ("attach", "detach", "excuse", "state", "status"))
# Their addresses. Kept: a forked child must not need the dynamic linker's locks, which stay locked there if another
# thread had them. The library is never unloaded.
_functions: "Optional[Dict[str, int]]" = None

# dlopen(3). CPython has RTLD_NOLOAD in `os`, other implementations may not.
_RTLD_NOW = 2
_RTLD_NOLOAD = getattr(os, "RTLD_NOLOAD", 4)


# What ctypes is made of: `_ctypes`, or `_by_ctypes`. Imported when it is needed: see `attach`.
_ctypes: "Any" = None


def _import_ctypes() -> bool:
    """Returns whether nothing in this process, also in another interpreter, can have used ctypes before."""
    global _ctypes
    if _ctypes is not None:
        return False
    try:
        with open("/proc/self/maps", "rb", buffering=0) as maps:
            is_new = b"/_ctypes." not in maps.read() and "_ctypes" not in sys.builtin_module_names
    except Exception:  # no /proc, or an audit hook
        is_new = False
    try:
        # Importing ctypes itself takes longer than attaching.
        import _ctypes as found

        found.call_function, found.dlopen, found.dlsym
    except Exception:  # ImportError, AttributeError where it is made of something else, or what an audit hook raises
        from . import _by_ctypes as found  # type: ignore[no-redef]
    _ctypes = found
    return is_new


def _call(address: int, *arguments: int) -> int:
    result: int = _ctypes.call_function(address, arguments)
    return result


def functions() -> "Optional[Dict[str, int]]":
    """The addresses of the library's functions if it is in this process; None if not.

    It may have come with LD_PRELOAD, from another path: then its functions are among the global ones.
    """
    global failure
    _import_ctypes()
    for path, mode in () if _functions else ((None, _RTLD_NOW), (PATH, _RTLD_NOW | _RTLD_NOLOAD)):
        try:
            return _find(_ctypes.dlopen(path, mode))
        except OSError:
            continue
        except Exception as error:  # an audit hook's
            failure = text_of(error)
    return _functions


def _find(library: int) -> "Dict[str, int]":
    global _functions
    _functions = {name: _ctypes.dlsym(library, name) for name in _NAMES}
    return _functions


def _load() -> "Dict[str, int]":
    """Loads the library, or raises an exception. What could fail after that is tried before."""
    if not os.path.isdir(_FOLDER):
        where = _FOLDER or "the program"
        raise OSError(f"{where}: an archive, from which no library can be loaded. Unpack the package")
    try:
        # The library takes from the C library what only glibc gives it.
        os.confstr("CS_GNU_LIBC_VERSION")
    except ValueError:
        raise OSError("the C library of this system is not glibc") from None
    program = _ctypes.dlopen(None, _RTLD_NOW)
    # An audit hook may forbid calls, not only the loading.
    _call(_ctypes.dlsym(program, "getpid"))
    try:
        _ctypes.dlsym(program, "windlass_preload_bound_to")
    except OSError:
        pass
    else:
        raise OSError("LD_PRELOAD has loaded another version of Windlass, which serves but can't be asked")
    with open(PATH, "rb", buffering=0) as file:
        header = file.read(64)
        # The dynamic linker maps a file that was cut off all the same, and the process dies of SIGBUS. The table of
        # sections is the last part of the file (ELF-64: e_shoff, e_shentsize, e_shnum).
        end = int.from_bytes(header[40:48], "little")
        end += int.from_bytes(header[58:60], "little") * int.from_bytes(header[60:62], "little")
        if header[:6] != b"\x7fELF\x02\x01" or end == 0 or os.fstat(file.fileno()).st_size < end:
            raise OSError(f"{PATH}: damaged. Install the package again")
    return _find(_ctypes.dlopen(PATH, _RTLD_NOW))


def text_of(error: Exception) -> str:
    """Never empty."""
    return str(error) or type(error).__name__


def state(functions: "Dict[str, int]") -> "State":
    """Whether calls are seen, or why not."""
    names: "tuple[State, ...]" = ("detached", "attached", "disabled", "secure-execution", "audited")
    number = _call(functions["windlass_preload_state"])
    return names[number]


def attach() -> "Attached":
    """Serves TLS contexts that are made from now on. Contexts that exist stay as they are.

    Never raises. Unless it returns "attached", the process is as it was before:

    - "attached": calls are seen from now on;
    - "already": they were seen before: the library came with LD_PRELOAD, or this was called before;
    - "disabled": the environment has WINDLASS_DISABLE=1;
    - "secure-execution": the program runs with privileges that its user doesn't have (set-user-ID);
    - "audited": the environment has LD_AUDIT, whose auditors decide where calls lead;
    - "failed": the loaded objects can't be listed: in a child that was forked while other threads ran;
    - "unavailable": the library can't be loaded here. `status().reason` says why.

    Which TLS libraries it reaches is in `status().libraries`.
    """
    global failure
    try:
        # From here to the excuse: what else uses ctypes meanwhile is not seen.
        is_new = _import_ctypes()
        found = functions()
        if found is not None and state(found) == "attached":
            return "already"
        found = found or _load()
        if _call(found["windlass_preload_attach"]) < 0:
            return "failed"
        if is_new:
            # ctypes finds any function by its name, but only this module has used it.
            _call(found["windlass_preload_excuse"], 0)
        result = state(found)
    except Exception as error:  # OSError, or what an audit hook raises
        failure = text_of(error)
        return "unavailable"
    return "failed" if result == "detached" else result


def detach() -> "Detached":
    """Ends the serving: existing contexts get the certificates that they were promised, and calls go straight to the
    TLS libraries again.

    Never raises. Returns "failed" if that is not possible: in a callback that runs during a verification, in a child
    that was forked while other threads ran, or where an audit hook forbids it.
    """
    found = functions()
    try:
        return "failed" if found and _call(found["windlass_preload_detach"]) < 0 else "detached"
    except Exception:  # an audit hook's
        return "failed"

"""Loads the preload library into this process, and calls its functions."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Literal, Optional

    State = Literal["detached", "attached", "disabled", "secure-execution", "audited"]
    Attached = Literal[
        "attached", "already", "disabled", "secure-execution", "audited", "failed", "unavailable"
    ]
    Detached = Literal["detached", "failed"]

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libwindlass_preload.so")

# Why the library could not be loaded.
failure: "Optional[str]" = None

_NAMES = ("windlass_preload_attach", "windlass_preload_detach", "windlass_preload_state", "windlass_preload_status")
# Their addresses. Kept: a forked child must not need the dynamic linker's locks, which stay locked there if another
# thread had them. The library is never unloaded.
_functions: "Optional[Dict[str, int]]" = None

# dlopen(3). CPython has RTLD_NOLOAD in `os`, other implementations may not.
_RTLD_NOW = 2
_RTLD_NOLOAD = getattr(os, "RTLD_NOLOAD", 4)

try:
    # What ctypes is made of. Importing ctypes itself takes longer than attaching.
    from _ctypes import call_function as _call, dlopen as _dlopen, dlsym as _dlsym
except ImportError:
    from ._by_ctypes import call_function as _call, dlopen as _dlopen, dlsym as _dlsym  # type: ignore[assignment]


def functions() -> "Optional[Dict[str, int]]":
    """The addresses of the library's functions if it is in this process; None if not.

    It may have come with LD_PRELOAD, from another path: then its functions are among the global ones.
    """
    for path, mode in () if _functions else ((None, _RTLD_NOW), (PATH, _RTLD_NOW | _RTLD_NOLOAD)):
        try:
            return _find(_dlopen(path, mode))  # type: ignore[arg-type]
        except OSError:
            continue
    return _functions


def _find(library: int) -> "Dict[str, int]":
    global _functions
    _functions = {name: _dlsym(library, name) for name in _NAMES}
    return _functions


def _load() -> "Dict[str, int]":
    """Loads the library. Raises OSError."""
    with open(PATH, "rb", buffering=0) as file:
        header = file.read(64)
        # The dynamic linker maps a file that was cut off all the same, and the process dies of SIGBUS. The table of
        # sections is the last part of the file (ELF-64: e_shoff, e_shentsize, e_shnum).
        end = int.from_bytes(header[40:48], "little")
        end += int.from_bytes(header[58:60], "little") * int.from_bytes(header[60:62], "little")
        if header[:6] != b"\x7fELF\x02\x01" or end == 0 or os.fstat(file.fileno()).st_size < end:
            raise OSError(f"{PATH}: damaged. Install the package again")
    return _find(_dlopen(PATH, _RTLD_NOW))


def state(functions: "Dict[str, int]") -> "State":
    """Whether calls are seen, or why not."""
    names: "tuple[State, ...]" = ("detached", "attached", "disabled", "secure-execution", "audited")
    number: int = _call(functions["windlass_preload_state"], ())
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
        found = functions()
        if found is not None and state(found) == "attached":
            return "already"
        found = found or _load()
    except Exception as error:  # OSError, or what an audit hook raises
        failure = str(error)
        return "unavailable"
    if _call(found["windlass_preload_attach"], ()) < 0:
        return "failed"
    result = state(found)
    return "failed" if result == "detached" else result


def detach() -> "Detached":
    """Ends the serving: existing contexts get the certificates that they were promised, and calls go straight to the
    TLS libraries again.

    Returns "failed" if that is not possible: in a callback that runs during a verification, or in a child that was
    forked while other threads ran.
    """
    found = functions()
    return "failed" if found and _call(found["windlass_preload_detach"], ()) < 0 else "detached"

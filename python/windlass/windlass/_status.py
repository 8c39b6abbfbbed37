"""What Windlass sees and serves in this process."""

import dataclasses
import os
import re
from typing import Dict, List, Optional, Tuple

from . import _library


@dataclasses.dataclass(frozen=True)
class Library:
    """A TLS library in this process."""

    kind: str
    """"libcrypto", "libssl" or "libgnutls"."""
    path: str
    is_hidden: bool
    """Something in the process calls it where Windlass can't see it, so it is left alone."""
    is_from_before: bool
    """It was there before Windlass was attached, and something in the process may have taken addresses of its functions
    by then. Windlass would not see calls by these, so it is left alone."""


@dataclasses.dataclass(frozen=True)
class Status:
    """The status of this process, at one moment."""

    state: str
    """"attached", "detached", "disabled", "secure-execution", "audited", "unavailable" or "not loaded"."""
    reason: Optional[str]
    """Why OpenSSL in this process is not served as it could be, in a sentence; None if there is nothing to say."""
    version: Optional[str]
    """The version of the library; None if it is not loaded."""
    libraries: Tuple[Library, ...]
    """The TLS libraries that Windlass finds. A library that is linked statically into another is not among them."""
    served: Dict[str, int]
    """How often each function was served."""
    bypassed: Dict[str, int]
    """How often a call was left to the TLS library, by reason (docs/counters.md)."""
    counters: Dict[str, int]
    """All counters by name, also those of `served` and `bypassed`; those that are 0 are left out."""


_REASONS = {
    "disabled": "switched off: the environment has WINDLASS_DISABLE",
    "secure-execution": "this program runs with privileges that its user doesn't have (set-user-ID or capabilities)",
    "audited": "the environment has LD_AUDIT: its auditors decide where calls lead",
    "detached": "not attached: call windlass.attach()",
    "not loaded": "not attached: call windlass.attach()",
}


def status() -> Status:
    """The status of Windlass in this process. Never raises."""
    functions = _library.functions()
    if functions is None:
        if _library.failure is None:
            return Status("not loaded", _REASONS["not loaded"], None, (), {}, {}, {})
        failure = f"the library can't be loaded here: {_library.failure}"
        return Status("unavailable", failure, None, (), {}, {}, {})
    try:
        return _read(_text(functions))
    except Exception as error:  # what an audit hook raises, or ctypes where it can't make a call
        failure = f"the library is here, but can't be asked: {_library.text_of(error)}"
        return Status("unavailable", failure, None, (), {}, {}, {})


def _read(text: str) -> Status:
    version, state = "", "detached"
    libraries: List[Library] = []
    takers: List[str] = []
    counters: Dict[str, int] = {}
    for line in text.rstrip("\n").split("\n"):
        key, _, rest = line.partition(" ")
        if key == "version":
            version = rest
        elif key == "state":
            state = rest
        elif key == "library":
            kind, how, path = rest.split(" ", 2)
            libraries.append(Library(kind, _unescaped(path), how == "hidden", how == "before"))
        elif key == "addresses":
            takers.append(_unescaped(rest) or _program())
        elif key == "counter":
            name, _, value = rest.partition(" ")
            counters[name] = int(value)
    served = {name[len("served/"):]: value for name, value in counters.items() if name.startswith("served/")}
    reason = _REASONS.get(state)
    if state == "attached":
        reason = _why_not_reached(libraries, takers, bool(served))
    bypassed = {name[len("bypass/"):]: value for name, value in counters.items() if name.startswith("bypass/")}
    return Status(state, reason, version, tuple(libraries), served, bypassed, counters)


def _program() -> str:
    """The path of the program: a program with Python inside may say what it likes of `sys.executable`."""
    try:
        return os.readlink("/proc/self/exe")
    except Exception:  # no /proc, or an audit hook
        return "this program"


def _unescaped(path: str) -> str:
    return re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), path)


def _text(functions: Dict[str, int]) -> str:
    import ctypes

    function = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)(functions["windlass_preload_status"])
    room = 0
    while True:
        text = ctypes.create_string_buffer(max(room, 1))
        length = function(text, room)
        # Another thread may count meanwhile.
        if length < room:
            return text.value.decode("utf-8", "surrogateescape")
        room = length + 256


def _why_not_reached(libraries: List[Library], takers: List[str], has_served: bool) -> Optional[str]:
    hidden = [library.path for library in libraries if library.is_hidden]
    if hidden:
        return f"something in this process calls {', '.join(hidden)} where Windlass can't see it"
    before = [library.path for library in libraries if library.is_from_before]
    if before:
        return (
            f"{', '.join(before)} came before Windlass, and {', '.join(takers)} may have taken addresses of functions "
            "there: call windlass.attach() before they are imported"
        )
    try:
        from . import _reach

        return _reach.why_not_reached((library.path for library in libraries), has_served)
    except Exception as error:  # an audit hook's
        return f"which OpenSSL the ssl module calls can't be seen: {_library.text_of(error)}"

"""Serves the OpenSSL of this process from one indexed, shared root store per CA bundle.

    import windlass
    windlass.attach()

From then on, a TLS context that loads the machine's CA bundle costs as much as one that loads nothing. Verdicts stay
those of OpenSSL. A change of the bundle is seen by the next context.
"""

from ._library import attach, detach

__version__ = "0.1.0"

__all__ = ["FrozenContextError", "Library", "Status", "attach", "detach", "shared_context", "status"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._shared_context import FrozenContextError, shared_context
    from ._status import Library, Status, status

# Imported at their first use: programs that only attach should not pay for them.
_LATER = {
    "FrozenContextError": "_shared_context",
    "Library": "_status",
    "Status": "_status",
    "shared_context": "_shared_context",
    "status": "_status",
}


def __getattr__(name: str) -> object:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = found
    return found


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})

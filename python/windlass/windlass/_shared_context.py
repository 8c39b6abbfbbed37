"""One default TLS context for all callers, for interpreters whose OpenSSL Windlass can't reach."""

import os
import ssl
import time
from typing import Dict, Iterable, Iterator, List, Optional, Tuple

# A file that changed this recently can change again without a difference in its times: file systems count them in
# ticks (git calls such a file "racily clean").
_TICK_NS = 2_000_000_000

_State = Tuple[Tuple[object, ...], ...]


class FrozenContextError(TypeError):
    """Somebody tried to change a context that others use, too."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"SSLContext.{name}: this context is shared, so nobody can change it. "
            "Use one of your own: ssl.create_default_context()"
        )


class FrozenContext(ssl.SSLContext):
    """A context that refuses to be changed. Setting what is already set is no change: urllib3 and httpcore do so for
    each connection.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _PROPERTIES or getattr(self, name) != value:
            raise FrozenContextError(name)

    def __delattr__(self, name: str) -> None:
        raise FrozenContextError(name)

    def __getattribute__(self, name: str) -> object:
        # All methods that change a context are named like this, whatever the version of Python.
        if name.startswith(("set_", "load_")) and name != "set_alpn_protocols":
            raise FrozenContextError(name)
        return super().__getattribute__(name)

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        if tuple(alpn_protocols) != self.__dict__["alpn_protocols"]:
            raise FrozenContextError("set_alpn_protocols")


_PROPERTIES = frozenset(name for name in dir(ssl.SSLContext) if not name.startswith("_"))

# Without a lock, which a forked child might find locked: each access is one step.
_contexts: Dict[Tuple[str, ...], Tuple[_State, FrozenContext]] = {}


def shared_context(alpn_protocols: Iterable[str] = ()) -> FrozenContext:
    """What `ssl.create_default_context()` returns, made once for each state of the machine's trust store.

    The files of the trust store are looked at in each call, and a new context is made when one has changed. An attempt
    to change the context raises FrozenContextError. So no caller's settings, above all no client certificate, reach
    another's connections. This guards against accidents, not against code that goes round it.

    `alpn_protocols`: what a client would pass to `set_alpn_protocols`. requests, urllib3 and httpx need `["http/1.1"]`.
    """
    alpn_protocols = _names(alpn_protocols)
    began = time.time_ns()
    state, newest = _look()
    known = _contexts.get(alpn_protocols)
    if known is not None and known[0] == state:
        return known[1]
    context = ssl.create_default_context()
    if type(context) is not FrozenContext.__base__ or type(context).__module__ != "ssl":
        raise TypeError("ssl.SSLContext has been replaced, by truststore.inject_into_ssl() perhaps: use it directly")
    if alpn_protocols:
        context.set_alpn_protocols(list(alpn_protocols))
    context.__dict__["alpn_protocols"] = alpn_protocols
    context.__class__ = FrozenContext
    assert isinstance(context, FrozenContext)
    # Kept only if it was surely made of this state. OpenSSL says nothing of a bundle that it could not open, for want
    # of descriptors perhaps.
    is_whole = context.cert_store_stats()["x509"] > 0 or not os.path.exists(_bundle())
    if newest + _TICK_NS < began and is_whole and _look()[0] == state:
        _contexts[alpn_protocols] = (state, context)
    return context


def _names(alpn_protocols: Iterable[str]) -> Tuple[str, ...]:
    """ssl takes a str for a list of letters, and offers each."""
    names = () if isinstance(alpn_protocols, (str, bytes)) else tuple(alpn_protocols)
    if isinstance(alpn_protocols, (str, bytes)) or not all(isinstance(name, str) for name in names):
        raise TypeError(f'alpn_protocols: a list of names such as ["http/1.1"] is needed, not {alpn_protocols!r}')
    return names


def _look() -> Tuple[_State, int]:
    """The state of everything that a default context is made of, and when it last changed, in ns."""
    paths = ssl.get_default_verify_paths()
    directories = os.environ.get(paths.openssl_capath_env, paths.openssl_capath)
    state: List[Tuple[object, ...]] = [(os.environ.get("SSLKEYLOGFILE"), os.environ.get("OPENSSL_CONF"))]
    newest = 0
    for path in _files(_bundle(), directories):
        try:
            found = os.stat(path)
        except OSError as error:
            state.append((path, error.errno))
            continue
        state.append((path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
        newest = max(newest, found.st_mtime_ns, found.st_ctime_ns)
    return tuple(state), newest


def _bundle() -> str:
    paths = ssl.get_default_verify_paths()
    return os.environ.get(paths.openssl_cafile_env, paths.openssl_cafile)


def _files(file: str, directories: str) -> Iterator[str]:
    yield file
    for directory in directories.split(os.pathsep):
        yield directory
        try:
            names: List[str] = sorted(os.listdir(directory))
        except OSError:
            continue
        for name in names:
            yield os.path.join(directory, name)

"""Sub-interpreters: attached in the main one, contexts of all are served; asking in another one breaks nothing.

interpreters.py [ssl]: with the ssl module in them. interpreters.py stock: only import it there, without Windlass.
"""

import sys

import windlass

try:
    import _interpreters as interpreters  # 3.13
except ImportError:
    try:
        import _xxsubinterpreters as interpreters  # 3.8 to 3.12
    except ImportError:
        sys.exit("this Python has no sub-interpreters")

if sys.argv[1:] == ["stock"]:
    interpreter = interpreters.create()
    interpreters.run_string(interpreter, "import ssl")
    interpreters.destroy(interpreter)
    sys.exit()

assert windlass.attach() == "attached"
from handshake import accepts, served

inside = f"""
import sys
sys.path[:0] = {sys.path!r}
import windlass
result = windlass.attach()
assert result in ("already", "unavailable"), result
if result == "unavailable":
    assert "ctypes" in windlass.status().reason, windlass.status()
if {sys.argv[1:]!r} == ["ssl"]:
    import ssl
    from handshake import accepts
    assert accepts(ssl.create_default_context())
    assert not accepts(ssl.create_default_context(), "other.example")
"""
import ssl

for _ in range(2):
    interpreter = interpreters.create()
    failed = interpreters.run_string(interpreter, inside)
    assert failed is None, failed
    interpreters.destroy(interpreter)
before = served()
assert accepts(ssl.create_default_context()) and served() == before + 1

"""forbidden.py WHAT RESULT: something forbids what attaching needs. attach() returns RESULT, status() has a reason,
nothing is raised, and verdicts are those of before.

WHAT: the event of an audit hook ("ctypes.dlopen"), with "late " before it if the hook comes after attach(); or a call
that a seccomp filter refuses ("seccomp mprotect").
"""

import ctypes
import encodings.idna
import ssl
import struct
import sys

import windlass
from handshake import accepts, server_context

MPROTECT, OPENAT = 10, 257
PROT_WRITE = 2
EACCES = 13


def audit(event):
    def hook(name, arguments):
        if name.startswith(event):
            raise RuntimeError(f"{event} is forbidden")

    sys.addaudithook(hook)


def refuse(number, flag):
    """A filter that refuses this system call, or only where its third argument has this flag."""
    load, jump_if_equal, jump_if_set, end = 0x20, 0x15, 0x45, 0x06
    steps = [(load, 0, 0, 0), (jump_if_equal, 0, 3, number), (load, 0, 0, 16 + 2 * 8),
             (jump_if_set, 0, 1, flag) if flag else (load, 0, 0, 0), (end, 0, 0, 0x00050000 | EACCES),
             (end, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, seccomp, mode_filter = 38, 22, 2
    assert libc.prctl(no_new_privileges, 1, 0, 0, 0) == 0
    assert libc.prctl(seccomp, mode_filter, ctypes.c_void_p(ctypes.addressof(program)), 0, 0) == 0


what, expected = sys.argv[1:]
windlass.status()  # what is imported later can't be opened any more
server = server_context()
contexts = [ssl.create_default_context() for _ in range(4)]
if what.startswith("late "):
    assert windlass.attach() == "attached"
    contexts.append(ssl.create_default_context())
    windlass.status()
filters = {"seccomp mprotect": (MPROTECT, 0), "seccomp mprotect write": (MPROTECT, PROT_WRITE),
           "seccomp openat": (OPENAT, 0)}
if what in filters:
    refuse(*filters[what])
else:
    audit(what[len("late "):] if what.startswith("late ") else what)
result = windlass.attach()
status = windlass.status()
assert result == expected, (result, status)
assert status.reason or what.startswith("late "), status
if result == "unavailable" and not what.startswith("late "):
    assert status.state == "unavailable", status
    assert "forbidden" in status.reason or what.startswith("seccomp"), status
assert windlass.detach() in ("detached", "failed")
if what != "seccomp openat":
    contexts.append(ssl.create_default_context())
for context in contexts:
    assert accepts(context, server=server) and not accepts(context, "other.example", server)
print(status.state, status.reason)

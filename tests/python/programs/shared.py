"""shared_context(): one for all, never changed, another one as soon as the trust store changes."""

import os
import resource
import ssl
import threading
import time

import windlass
from handshake import accepts

bundle, other = os.environ["SSL_CERT_FILE"], os.environ["OTHER_BUNDLE"]
time.sleep(2.1)  # a bundle that has just been written is not yet believed
shared = windlass.shared_context()
assert accepts(shared) and shared is windlass.shared_context()
assert sorted(shared.get_ca_certs(True)) == sorted(ssl.create_default_context().get_ca_certs(True))
assert isinstance(shared, ssl.SSLContext)

# What clients set to the value that it has.
shared.verify_mode = ssl.CERT_REQUIRED
shared.check_hostname = True
shared.options |= shared.options
changes = {
    "verify_mode": lambda: setattr(shared, "verify_mode", ssl.CERT_NONE),
    "check_hostname": lambda: setattr(shared, "check_hostname", False),
    "options": lambda: setattr(shared, "options", shared.options ^ ssl.OP_NO_TICKET),
    "verify_flags": lambda: setattr(shared, "verify_flags", ssl.VERIFY_CRL_CHECK_LEAF),
    "minimum_version": lambda: setattr(shared, "minimum_version", ssl.TLSVersion.TLSv1),
    "sni_callback": lambda: setattr(shared, "sni_callback", print),
    "keylog_filename": lambda: setattr(shared, "keylog_filename", "/nonexistent/keys"),
    "anything": lambda: setattr(shared, "anything", 1),
    "sslsocket_class": lambda: delattr(shared, "sslsocket_class"),
    "load_cert_chain": lambda: shared.load_cert_chain(os.environ["CHAIN"]),
    "load_verify_locations": lambda: shared.load_verify_locations(other),
    "load_default_certs": lambda: shared.load_default_certs(),
    "set_default_verify_paths": lambda: shared.set_default_verify_paths(),
    "set_ciphers": lambda: shared.set_ciphers("ALL"),
    "set_servername_callback": lambda: shared.set_servername_callback(print),
    "set_alpn_protocols": lambda: shared.set_alpn_protocols(["h2"]),
}
for name, change in changes.items():
    try:
        change()
    except windlass.FrozenContextError as error:
        assert name in str(error), error
    else:
        raise SystemExit(f"{name} could be changed")
# Every other method and attribute of this version of Python is known not to change a context.
harmless = {"cert_store_stats", "get_ca_certs", "get_ciphers", "get_groups", "session_stats", "wrap_bio",
            "wrap_socket"}
for name in dir(ssl.SSLContext):
    value = getattr(ssl.SSLContext, name)
    if callable(value) and not name.startswith("_") and name not in ("sslsocket_class", "sslobject_class"):
        assert name in harmless or name.startswith(("load_", "set_")), f"{name}: does it change a context?"

# What requests and httpx set.
web = windlass.shared_context(["http/1.1"])
assert web is not shared and web is windlass.shared_context(["http/1.1"])
web.set_alpn_protocols(["http/1.1"])

# A name alone would be taken for a list of letters, and offered as such.
for wrong in ("http/1.1", "", b"h2", [b"h2"], ["h2", 1], [["h2"]]):
    try:
        windlass.shared_context(wrong)
    except TypeError as error:
        assert str(error) == f'alpn_protocols: a list of names such as ["http/1.1"] is needed, not {wrong!r}', error
    else:
        raise SystemExit(f"{wrong!r} was taken")
assert windlass.shared_context(iter(["http/1.1"])) is web

# A change of the trust store.
new = windlass.shared_context
contents = open(other, "rb").read(), open(bundle, "rb").read()
for number in range(4):
    with open(bundle + ".new", "wb") as file:
        file.write(contents[number % 2])
    os.replace(bundle + ".new", bundle)
    assert accepts(new()) == bool(number % 2), number
# In place, with the size and the times of before: only the time of the last change of the inode tells.
old = os.stat(bundle)
context = new()
text = bytearray(contents[1])
at = text.rindex(b"-----BEGIN CERT") + 200
text[at] = ord("A") if text[at] != ord("A") else ord("B")
with open(bundle, "r+b") as file:
    file.write(text)
os.utime(bundle, ns=(old.st_atime_ns, old.st_mtime_ns))
assert not accepts(new())
with open(bundle, "r+b") as file:
    file.write(contents[1])
assert accepts(new())
# Once it has rested, a context is kept again.
time.sleep(2.1)
assert new() is new()

# A bundle that could not be opened, for want of descriptors, is read again.
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
starved = windlass.shared_context(["starved"])
resource.setrlimit(resource.RLIMIT_NOFILE, limits)
assert not starved.get_ca_certs() and accepts(windlass.shared_context(["starved"]))

# All threads get the same.
found = set()
threads = [threading.Thread(target=lambda: found.add(id(new()))) for _ in range(20)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(found) == 1

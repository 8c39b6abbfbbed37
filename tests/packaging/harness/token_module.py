"""The trust token in the place of p11-kit's: programs see the same before, with it, and after."""

import re

from cases import BUNDLE
from root import assert_same

SHARED = "/usr/share/windlass/p11-kit/p11-kit-trust.module"
LINK = "/etc/pkcs11/modules/p11-kit-trust.module"


def same_trust(root, package):
    """with the token linked in, `trust` and p11tool list what they list with p11-kit's own module, nothing twice"""
    distrust_one(root)
    (root / "/etc/pkcs11/modules").mkdir(parents=True, exist_ok=True)
    clean, before = root.tree(), listed(root)
    assert before["trust"] and any("distrusted" in part for part in before["trust"]), before
    package.install(root)
    assert modules(root) == ["p11-kit-trust: p11-kit-trust.so"], "the package alone changes nothing"
    assert listed(root) == before
    (root / LINK).symlink_to(SHARED)
    assert modules(root) == ["p11-kit-trust: libwindlass_pkcs11.so"], modules(root)
    assert listed(root) == before
    # The proxy, which NSS and others load, has neither.
    assert not proxied(root), proxied(root)
    package.install(root)
    assert modules(root) == ["p11-kit-trust: libwindlass_pkcs11.so"], "an upgrade leaves it in place"
    root.run("dpkg", "--remove", "windlass")
    assert modules(root) == ["p11-kit-trust: p11-kit-trust.so"], "p11-kit's own is found again"
    assert listed(root) == before
    root.run("dpkg", "--purge", "windlass")
    assert_same(clean, root.tree())


def copied(root, package):
    """a copy of the configuration goes with the package; one that somebody has written keeps the package"""
    (root / "/etc/pkcs11/modules").mkdir(parents=True, exist_ok=True)
    before = listed(root)
    package.install(root)
    (root / LINK).write_bytes((root / SHARED).read_bytes())
    assert modules(root) == ["p11-kit-trust: libwindlass_pkcs11.so"], modules(root)
    root.run("dpkg", "--remove", "windlass")
    assert modules(root) == ["p11-kit-trust: p11-kit-trust.so"] and listed(root) == before
    package.install(root)
    (root / LINK).write_text("module: libwindlass_pkcs11.so\n")
    said = root.run("dpkg", "--remove", "windlass", code=1).stderr
    assert LINK in said and "take that out first" in said, said
    assert modules(root) == ["p11-kit-trust: libwindlass_pkcs11.so"]
    (root / LINK).unlink()
    root.run("dpkg", "--remove", "windlass")
    assert listed(root) == before


def distrust_one(root):
    """Distrusts a root of the bundle as OpenSSL writes it: the only distrust that a bundle can have."""
    distrusted = root.run("openssl", "x509", "-in", BUNDLE, "-trustout", "-addreject", "serverAuth").stdout
    with open(root / BUNDLE, "a", encoding="utf-8") as bundle:
        bundle.write(distrusted)


def listed(root):
    """What the programs list, without the names of the token and its module."""
    trust = root.run("trust", "list").stdout.split("\n\n")
    extracted = {}
    for kind in ("ca-anchors", "blocklist"):
        root.run("trust", "extract", "--format=pem-bundle", f"--filter={kind}", "--overwrite", "/tmp/extracted.pem")
        extracted[kind] = sorted((root / "/tmp/extracted.pem").read_text().split("-----BEGIN")[1:])
    certificates = {}
    for option in ("--list-all-trusted", "--list-all-certs"):
        found = re.split(r"Object \d+:\n", root.run("p11tool", option, "pkcs11:").stdout)[1:]
        certificates[option] = sorted(re.sub(r"URL: pkcs11:.*?;(id|object)=", r"URL: \1=", part).strip()
                                      for part in found)
    return {"trust": sorted(part.strip() for part in trust), "extracted": extracted, "p11tool": certificates}


def modules(root):
    """["name: file", ...] of the modules that p11-kit loads for programs."""
    lines = root.run("p11-kit", "list-modules").stdout.splitlines()
    found, name = [], None
    for line in lines:
        module = re.match(r"module: (\S+)", line) or re.match(r"(\S+): (\S+)$", line)
        if module and len(module.groups()) == 2:
            found.append(f"{module.group(1)}: {module.group(2).rpartition('/')[2]}")
        elif module:
            name = module.group(1)
        elif name and (path := re.match(r" +path: (\S+)", line)):
            found.append(f"{name}: {path.group(1).rpartition('/')[2]}")
            name = None
    return found


def proxied(root):
    """The tokens that the proxy module has."""
    proxy = next((root / "/usr/lib").glob("*/p11-kit-proxy.so"), None)
    if proxy is None:
        return []
    listed_tokens = root.run("p11tool", "--provider", "/" + str(proxy.relative_to(root.path)), "--list-token-urls",
                             code=None).stdout
    return [line for line in listed_tokens.splitlines() if "proxy" in line.lower()]


for case in (same_trust, copied):
    case.variant = "trust"
ALL = [same_trust, copied]

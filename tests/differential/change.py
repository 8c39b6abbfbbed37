"""Programs that change what works with certificates while stores hold some, and programs whose own code runs inside
their calls."""

import subprocess

from generate.pki import ca_name
from generate import forge
from one_subject import compiled, filled
from programs import execute, same_in_both

CONFIGURATIONS = {
    "oid.cnf": b"openssl_conf = init\n[init]\noid_section = oids\n[oids]\nconfiguredOid = 1.2.3.4.5.6.7\n",
    "nothing.cnf": b"openssl_conf = init\n[init]\nalg_section = algorithms\n[algorithms]\ndefault_properties = "
                   b"provider=none\n",
}


def of_rsa(folder):
    """A root with an RSA key, and a leaf of it: our own signer has none."""
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-sha256"]
    for command in (
            [*new, "-x509", "-keyout", "root.key", "-out", "rsa.pem", "-subj", "/CN=RSA root", "-days", "36500"],
            [*new, "-keyout", "leaf.key", "-out", "leaf.csr", "-subj", "/CN=RSA leaf"],
            ["openssl", "x509", "-req", "-in", "leaf.csr", "-CA", "rsa.pem", "-CAkey", "root.key", "-set_serial", "1",
             "-days", "36500", "-out", "leaf-rsa.pem"]):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return (folder / "rsa.pem").read_bytes()


def bundle_of(pki):
    return b"".join(pki.pem(f"r{n}") for n in range(5))


def changed(results, options, pki):
    """Default methods, engines, properties, OPENSSL_cleanup: what was loaded before is as it was read then."""
    with filled({"leaf.pem": pki.pem("leaf3")}) as folder:
        (folder / "bundle.pem").write_bytes(bundle_of(pki) + of_rsa(folder))
        for build in options.builds:
            for how in ("methods", "freed", "engine", "properties", "cleanup"):
                same_in_both(results, f"what keys depend on changes on OpenSSL {build}: {how}",
                             [compiled("changed", build), how, "bundle.pem", "leaf-rsa.pem", "leaf.pem"], folder,
                             options.library)


def configured(results, options, pki):
    """The configuration is the one of the first load, also if it leaves libcrypto unable to do anything."""
    with filled({"bundle.pem": bundle_of(pki), "leaf.pem": pki.pem("leaf3"), **CONFIGURATIONS}) as folder:
        for build in options.builds:
            for configuration in CONFIGURATIONS:
                for how in ("as it is", "other", "none"):
                    same_in_both(results, f"{configuration} on OpenSSL {build}, {how}",
                                 [compiled("configured", build), how, "bundle.pem", "leaf.pem"], folder,
                                 options.library, env={"OPENSSL_CONF": configuration})


def nested(results, options, pki):
    """What the program does in the middle of one of its calls is as what it does between them."""
    names = ("bundle.pem", "impostor.pem", "leaf.pem", "other.pem")
    key = forge.Key(pki.signer, "pki impostor")
    impostor = forge.certificate(ca_name("Root 0"), key, ca_name("Root 0"), key, 900,
                                 extension_list=forge.extensions(ca=True, ski=key.key_id, usage=forge.CERT_SIGN))
    contents = (bundle_of(pki), forge.cert_pem(impostor).encode(), pki.pem("leaf0"), pki.pem("leaf3"))
    with filled(dict(zip(names, contents))) as folder:
        for build in options.builds:
            for how in ("constructor", "loader", "jump", "constructor-ssl", "loader-ssl", "jump-ssl"):
                same_in_both(results, f"inside a call on OpenSSL {build}: {how}",
                             [compiled("nested", build), how, *names],
                             folder, options.library)


def herd(results, options, pki, rounds):
    """Many more threads in a lookup than there are chunks of the reserve."""
    leaves = {f"leaf-{n}.pem": pki.pem(f"leaf{n}") for n in range(3)}
    with filled({"bundle.pem": bundle_of(pki), **leaves}) as folder:
        for build in options.builds:
            out = execute([compiled("herd", build), "bundle.pem", rounds, *leaves], folder, options.library)
            results.check(f"a herd of threads on OpenSSL {build}", out.endswith("exit 0\n"), out)


def narrow(results, options, pki):
    """What stock does on the smallest stack of a thread is done on it with the library, too."""
    key = forge.Key(pki.signer, "pki narrow")
    names = [ca_name(f"Narrow {n}") for n in range(400)]
    roots = b"".join(forge.cert_pem(forge.certificate(name, key, name, key, n + 1, extension_list=forge.extensions(
        ca=True, ski=key.key_id, aki=key.key_id, aki_issuer=(name, n + 1), usage=forge.CERT_SIGN))).encode()
        for n, name in enumerate(names))
    content = {"bundle.pem": bundle_of(pki) + roots, "leaf.pem": pki.pem("leaf0"),
               f"directory/{pki.hash_of('Root 0')}.0": pki.pem("r0")}
    with filled(content) as folder:
        for build in options.builds:
            done = 0
            for what in ("load", "store", "default", "directory", "verify", "objects", "names", "file"):
                command = [compiled("narrow", build), what, "bundle.pem", "directory", "leaf.pem"]
                if execute(command, folder).endswith("exit 0\n"):
                    label = f"on a narrow stack on OpenSSL {build}: {what}"
                    same_in_both(results, label, command, folder, options.library)
                    done += 1
            results.check(f"stock does most of it on a narrow stack on OpenSSL {build}", done > 4, done)


def between(results, options, pki):
    """Stores in memory that processes share: what one of them does with a store, the others see."""
    with filled({"bundle.pem": bundle_of(pki), "leaf.pem": pki.pem("leaf0")}) as folder:
        for build in options.builds:
            for how in ("made", "loaded", "forked", "freed"):
                same_in_both(results, f"between processes on OpenSSL {build}: {how}",
                             [compiled("between", build), how, "bundle.pem", "leaf.pem"], folder, options.library)


def detached(results, options, pki, seconds):
    """The library goes out of the way, and comes back, while threads are at work."""
    with filled({"bundle.pem": pki.pem("r0", "r1", "r2"), "good.pem": pki.pem("leaf1"),
                 "bad.pem": pki.pem("leaf5")}) as folder:
        for build in options.builds:
            command = [compiled("detached", build), options.library, "bundle.pem", 3, "good.pem", "bad.pem", seconds]
            out = execute(command, folder)
            results.check(f"comes and goes on OpenSSL {build}", out.endswith("exit 0\n"), out)

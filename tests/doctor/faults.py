"""Makes images with one fault each, with OpenSSL's own tools, and compares what `windlass doctor` says of them with
what OpenSSL does: a certificate that the doctor calls lost must be refused by `openssl verify`, one that it does not
must be accepted. And with what the trust token gives p11tool, in images that have it. The SARIF log of each image must
be as the standard's schema requires. Last, the action for hosted CI."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import action
import sarif

BAD_BLOCK = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def openssl(*arguments, ok=True):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    if ok and done.returncode:
        raise RuntimeError(f"openssl {' '.join(map(str, arguments))}: {done.stderr}")
    return done


class Authorities:
    """Two roots, a and b, and a server's certificate of each."""

    def __init__(self, directory):
        self.directory = directory
        for name in "ab":
            key, root = directory / f"{name}.key", self.root(name)
            curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
            openssl("req", "-x509", *curve, "-keyout", key, "-out", root, "-subj", f"/CN=Root {name}", "-days", "3650")
            request = directory / f"{name}.csr"
            openssl("req", *curve, "-keyout", directory / "leaf.key", "-out", request, "-subj", f"/CN=leaf of {name}")
            openssl("x509", "-req", "-in", request, "-CA", root, "-CAkey", key, "-CAcreateserial", "-out",
                    self.leaf(name), "-days", "3000")

    def root(self, name):
        return self.directory / f"{name}.pem"

    def leaf(self, name):
        return self.directory / f"leaf-{name}.pem"


class Image:
    """A healthy machine: both roots in a bundle, and in a directory that `openssl rehash` has hashed."""

    def __init__(self, root, authorities):
        self.root, self.authorities = root, authorities
        # What the trust token reads here, if p11-kit loads it.
        self.token_places = []
        self.certs = root / "etc/ssl/certs"
        self.certs.mkdir(parents=True)
        (root / "usr/lib/ssl").mkdir(parents=True)
        (root / "usr/lib/ssl/certs").symlink_to("/etc/ssl/certs")
        for name in "ab":
            (self.certs / f"{name}.pem").write_bytes(authorities.root(name).read_bytes())
        openssl("rehash", self.certs)
        self.bundle = self.certs / "ca-certificates.crt"
        self.write_bundle("ab")

    def write_bundle(self, names, more=""):
        self.bundle.write_text("".join(self.authorities.root(name).read_text() for name in names) + more)

    def trusted(self, name, *settings):
        return openssl("x509", "-trustout", "-in", self.authorities.root(name), *settings).stdout

    def hash_link(self, name):
        return self.certs / (openssl("x509", "-in", self.authorities.root(name), "-noout", "-hash").stdout.strip()
                             + ".0")

    def by_directory(self, name):
        where = ["-no-CAfile", "-no-CAstore", "-CApath", self.certs]
        return openssl("verify", "-purpose", "sslserver", *where, self.authorities.leaf(name), ok=False).returncode == 0

    def by_bundle(self, name):
        where = ["-no-CApath", "-no-CAstore", "-CAfile", self.bundle]
        return openssl("verify", "-purpose", "sslserver", *where, self.authorities.leaf(name), ok=False).returncode == 0

    def by_token(self, token):
        """How many anchors the trust token gives."""
        places = ":".join(map(str, self.token_places))
        command = ["env", f"WINDLASS_TRUST_PATHS={places}", "p11tool", "--provider", token, "--list-all-trusted",
                   "pkcs11:"]
        listed = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        return sum(line.startswith("Object ") for line in listed.stdout.splitlines())


def link_missing(image):
    image.hash_link("b").unlink()


def link_stale(image):
    image.hash_link("b").rename(image.certs / "01234567.0")


def gap(image):
    link = image.hash_link("b")
    link.rename(link.with_suffix(".1"))


def dangling(image):
    (image.certs / "b.pem").unlink()


def der_instead_of_pem(image):
    openssl("x509", "-in", image.authorities.root("b"), "-outform", "DER", "-out", image.certs / "b.pem")


def bad_block(image):
    image.write_bundle("ab", BAD_BLOCK)


def empty_bundle(image):
    image.write_bundle("")


def joined_without_newline(image):
    image.bundle.write_text("".join(image.authorities.root(name).read_text().strip() for name in "ab"))


def bundle_missing(image):
    both_default_paths(image)
    image.bundle.unlink()


def only_in_directory(image):
    image.write_bundle("a")


def only_in_bundle(image):
    (image.certs / "b.pem").unlink()
    openssl("rehash", image.certs)


def duplicate(image):
    image.write_bundle("abb")


def refused_in_directory(image):
    (image.certs / "b.pem").write_text(image.trusted("b", "-addreject", "serverAuth"))


def refused_in_bundle(image):
    image.write_bundle("a", image.trusted("b", "-addtrust", "emailProtection"))


def refused_in_both(image):
    refused_in_directory(image)
    image.write_bundle("a", image.trusted("b", "-addreject", "anyExtendedKeyUsage")
                       + image.authorities.root("b").read_text())


def trusted_with_settings(image):
    (image.certs / "b.pem").write_text(image.trusted("b", "-addtrust", "serverAuth", "-addreject", "emailProtection"))


def both_default_paths(image):
    (image.root / "usr/lib/ssl/cert.pem").symlink_to("/etc/ssl/certs/ca-certificates.crt")


def one_line(image):
    """A whole block on one line, as it comes out of an environment variable."""
    lines = image.authorities.root("b").read_text().split("\n")
    image.write_bundle("a", "".join(lines) + "\n")


def long_base64(image):
    """All of the base64 on one line, and the markers on their own."""
    first, *middle, last = image.authorities.root("b").read_text().strip().split("\n")
    image.write_bundle("a", f"{first}\n{''.join(middle)}\n{last}\n")


def private_key(image):
    image.write_bundle("ab", (image.authorities.directory / "a.key").read_text())


def local_not_taken(image):
    image.write_bundle("a")
    image.hash_link("b").unlink()
    (image.certs / "b.pem").unlink()
    local = image.root / "usr/local/share/ca-certificates"
    local.mkdir(parents=True)
    (local / "b.pem").write_bytes(image.authorities.root("b").read_bytes())


def token(image):
    """As docs/pkcs11.md sets it up."""
    module = image.root / "etc/pkcs11/modules/p11-kit-trust.module"
    module.parent.mkdir(parents=True)
    module.write_bytes(pathlib.Path("packaging/p11-kit/p11-kit-trust.module").read_bytes())
    library = image.root / "usr/lib/x86_64-linux-gnu/pkcs11/libwindlass_pkcs11.so"
    library.parent.mkdir(parents=True)
    library.touch()
    image.token_places = [image.bundle]


def token_with_directories(image):
    token(image)
    source = image.root / "etc/pki/ca-trust/source"
    for name in ["anchors", "blocklist"]:
        (source / name).mkdir(parents=True)
    (source / "anchors/a.pem").write_bytes(image.authorities.root("a").read_bytes())
    image.token_places = [source, image.root / "usr/share/pki/ca-trust-source"]


def token_unreadable(image):
    """A name that p11-kit does not know either: nobody knows what it takes away."""
    token_with_directories(image)
    (image.token_places[0] / "blocklist/b.p11-kit").write_text("[p11-kit-object-v1]\nclass: certificate\n"
                                                               "no-such-attribute: 1\n")


def token_hidden_bundle(image):
    token(image)
    (image.root / "etc/pki/trust/anchors").mkdir(parents=True)
    image.token_places = [image.root / "etc/pki/trust", image.root / "usr/share/pki/trust"]


# The fault, the checks that find it, and whether OpenSSL still finds root b in the directory, and in the bundle.
CASES = {
    "healthy": (lambda image: None, set(), True, True),
    "link-missing": (link_missing, {"hash-link-missing", "bundle-differs"}, False, True),
    "link-stale": (link_stale, {"hash-link-stale", "hash-link-missing", "bundle-differs"}, False, True),
    "gap": (gap, {"hash-gap", "hash-link-missing", "bundle-differs"}, False, True),
    "dangling": (dangling, {"dangling-links", "bundle-differs"}, False, True),
    "der": (der_instead_of_pem, {"unparsable-entry", "bundle-differs"}, False, True),
    "bad-block": (bad_block, {"bundle-dropped"}, True, False),
    "empty-bundle": (empty_bundle, {"bundle-dropped"}, True, False),
    "joined": (joined_without_newline, {"bundle-dropped"}, True, False),
    "bundle-missing": (bundle_missing, {"bundle-missing"}, True, False),
    "only-in-directory": (only_in_directory, {"bundle-differs"}, True, False),
    "only-in-bundle": (only_in_bundle, {"bundle-differs"}, False, True),
    "duplicate": (duplicate, {"duplicates"}, True, True),
    "refused-in-directory": (refused_in_directory, {"bundle-differs"}, False, True),
    "refused-in-bundle": (refused_in_bundle, {"bundle-differs"}, True, False),
    "refused-in-both": (refused_in_both, set(), False, False),
    "trusted-with-settings": (trusted_with_settings, set(), True, True),
    "one-line": (one_line, {"block-skipped", "bundle-differs"}, True, False),
    "long-base64": (long_base64, set(), True, True),
    "private-key": (private_key, {"private-key-readable"}, True, True),
    "local-not-taken": (local_not_taken, {"local-not-taken"}, False, False),
    "double-load": (both_default_paths, {"double-load"}, True, True),
    "token": (token, set(), True, True),
    "token-directories": (token_with_directories, set(), True, True),
    "token-unreadable": (token_unreadable, {"token-no-anchors"}, True, True),
    "token-hidden-bundle": (token_hidden_bundle, {"token-no-anchors"}, True, True),
}


def opened_by_default_paths(image):
    """The files that OpenSSL opens for one verification with these default paths, counted by strace."""
    paths = [f"SSL_CERT_FILE={image.bundle}", f"SSL_CERT_DIR={image.certs}"]
    command = ["strace", "-f", "-e", "trace=openat,open", "env", *paths, "openssl", "verify",
               str(image.authorities.leaf("b"))]
    traced = subprocess.run(command, capture_output=True, text=True)
    return [line for line in traced.stderr.splitlines() if str(image.certs) in line and "= -1" not in line]


def run(windlass, token, fault, checks, in_directory, in_bundle, image):
    fault(image)
    report = subprocess.run([windlass, "doctor", "--root", image.root, "--json", "--no-measure"], capture_output=True,
                            text=True)
    if report.stderr:
        return report.stderr
    report = json.loads(report.stdout)
    found = {check["id"] for check in report["checks"] if check["findings"]}
    wrong = []
    if found != checks:
        wrong.append(f"found {sorted(found)}, not {sorted(checks)}")
    for way, ours, theirs in [("directory", in_directory, image.by_directory("b")),
                              ("bundle", in_bundle, image.by_bundle("b"))]:
        if ours != theirs:
            wrong.append(f"OpenSSL {'finds' if theirs else 'does not find'} the root by the {way}")
    if not image.by_directory("a"):
        wrong.append("the other root is lost too")
    if image.token_places and (image.by_token(token) > 0) != ("token-no-anchors" not in checks):
        wrong.append(f"the token gives {image.by_token(token)} anchors")
    wrong += sarif_of(windlass, image, checks)
    if "double-load" in checks and not any("ca-certificates.crt" in line for line in opened_by_default_paths(image)):
        wrong.append("OpenSSL does not open the bundle")
    return "; ".join(wrong)


def sarif_of(windlass, image, checks):
    """What is wrong with the SARIF log."""
    def log(root):
        command = [windlass, "doctor", "--root", root, "--sarif", "--no-measure"]
        return json.loads(subprocess.run(command, capture_output=True, text=True).stdout)

    first = log(image.root)
    wrong = [sarif.wrong(first)]
    if {result["ruleId"] for result in first["runs"][0]["results"]} != checks:
        wrong.append("the SARIF log has other findings")
    # The same image elsewhere, as in the next job.
    moved = image.root.rename(image.root.with_name(image.root.name + " moved"))
    if sarif.fingerprints(log(moved)) != sarif.fingerprints(first):
        wrong.append("the fingerprints depend on where the image is")
    moved.rename(image.root)
    return list(filter(None, wrong))


def run_action(windlass, case, image):
    try:
        case(windlass, image, sys.modules[__name__])
    except (AssertionError, subprocess.SubprocessError, OSError, KeyError) as error:
        return repr(error)
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--windlass", required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    is_wanted = lambda name: not arguments.cases or any(part in name for part in arguments.cases)
    names = [name for name in [*CASES, *action.CASES] if is_wanted(name)]
    if not names:
        sys.exit(f"no case is named like {' or '.join(arguments.cases)}")
    windlass = str(pathlib.Path(arguments.windlass).resolve())
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        (directory / "pki").mkdir()
        authorities = Authorities(directory / "pki")
        for name in names:
            (directory / name).mkdir()
            image = Image(directory / name / "image", authorities)
            wrong = (run(windlass, arguments.token, *CASES[name], image) if name in CASES
                     else run_action(windlass, action.CASES[name], image))
            failed += bool(wrong)
            print(f"{'FAILED' if wrong else 'ok':6}  {name}" + (f": {wrong}" if wrong else ""), flush=True)
    print(f"doctor: {len(names) - failed} passed, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()

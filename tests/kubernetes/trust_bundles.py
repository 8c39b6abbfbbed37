"""What deploy/kubernetes/bundle.py says of files that can't be a cluster's trust. manifests.py runs the cases."""

import json
import pathlib
import subprocess
import sys
import tempfile

BUNDLE = pathlib.Path(__file__).resolve().parents[2] / "deploy/kubernetes/bundle.py"


class Files:
    """A CA, a leaf, and what people take for a bundle by mistake."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for name, is_ca in (("ca", "TRUE"), ("other", "TRUE"), ("leaf", "FALSE")):
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                 self.path(f"{name}.key"), "-out", self.path(f"{name}.pem"), "-days", "30", "-subj", f"/CN={name}",
                 "-config", "/dev/null", "-addext", f"basicConstraints=critical,CA:{is_ca}"],
                check=True, stderr=subprocess.DEVNULL)
        self.ca = self.path("ca.pem").read_text(encoding="ascii")
        self.convert("ca.der", "-outform", "DER")
        self.convert("trusted.pem", "-trustout")

    def convert(self, name, *options):
        subprocess.run(["openssl", "x509", "-in", self.path("ca.pem"), *options, "-out", self.path(name)], check=True)

    def path(self, name):
        return self.folder / name

    def write(self, name, text):
        self.path(name).write_text(text, encoding="ascii")

    def run(self, *arguments):
        return subprocess.run([sys.executable, "-B", BUNDLE, *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)

    def bundles(self, *arguments, said=""):
        """The objects that it writes, while it says this."""
        ended = self.run(*arguments)
        assert (ended.returncode, ended.stderr) == (0, said), ended
        return json.loads(ended.stdout)["items"]


def a_file_that_is_no_bundle_is_named():
    with tempfile.TemporaryDirectory() as folder:
        files = Files(folder)
        files.write("empty.pem", "")
        files.write("notes.txt", "see the wiki\n")
        files.write("damaged.pem", files.ca.replace("M", "N", 40))
        files.write("cut.pem", files.ca[:200])
        files.write("commented.pem", "#" + files.ca.replace("\n", "\n#"))
        wrong = {
            "missing.pem": "No such file or directory",
            ".": "Is a directory",
            "empty.pem": "it is empty",
            "notes.txt": "it has no certificate (PEM)",
            "ca.der": "it has no certificate (PEM)",
            "ca.key": "it has no certificate (PEM), but PRIVATE KEY",
            "trusted.pem": "it has no certificate (PEM), but TRUSTED CERTIFICATE",
            "leaf.pem": "it has no certificate of a CA, but CN=leaf",
            "damaged.pem": "openssl can't read its certificates",
            "cut.pem": "a certificate has no line that ends it, or is damaged",
            "commented.pem": "it has no certificate (PEM)",
        }
        for name, why in wrong.items():
            # Whatever else is given: the cluster would get less than was asked for.
            for arguments in ([name], ["ca.pem", name], ["--signer", "example.com/trust", name]):
                ended = files.run(*arguments)
                assert (ended.returncode, ended.stdout) == (1, ""), (arguments, ended)
                assert ended.stderr == f"bundle.py: {name}: {why}\n", (arguments, ended.stderr)


def what_is_left_out_is_named():
    with tempfile.TemporaryDirectory() as folder:
        files = Files(folder)
        other, leaf = (files.path(name).read_text(encoding="ascii") for name in ("other.pem", "leaf.pem"))
        files.write("mixed.pem", files.ca + leaf + other + files.path("trusted.pem").read_text(encoding="ascii"))
        files.write("windows.pem", files.ca.replace("\n", "\r\n").removesuffix("\r\n"))
        [made] = files.bundles("mixed.pem", said="bundle.py: mixed.pem: left out: TRUSTED CERTIFICATE\n"
                                                 "bundle.py: mixed.pem: left out, as it is not a CA's: CN=leaf\n")
        assert made["spec"]["trustBundle"] == files.ca + other
        # Each certificate once.
        [made] = files.bundles("ca.pem", "other.pem", "windows.pem", "ca.pem")
        assert made["spec"]["trustBundle"] == files.ca + other


CASES = (a_file_that_is_no_bundle_is_named, what_is_left_out_is_named)

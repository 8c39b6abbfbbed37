"""bundle.py [--signer DOMAIN/PATH] FILE...: ClusterTrustBundles with the certificates of PEM files, as JSON.

    python3 deploy/kubernetes/bundle.py /etc/ssl/certs/ca-certificates.crt | kubectl apply --server-side -f -

The API server takes no bundle with a certificate twice, or with one that is not a CA's; those are left out here, and
named on standard error. A file that has none, or that can't be read, is an error, and nothing is written. The API
server takes 1 MiB in one object. With --signer there are as many objects as are needed, and the kubelet joins them;
without, there is one, named windlass. Needs the openssl command.
"""

import argparse
import json
import re
import subprocess
import sys

# certificates.MaxTrustBundleSize of Kubernetes.
LARGEST = 1 << 20
BEGIN = re.compile(r"^-----BEGIN (.+)-----$", re.M)
BLOCK = re.compile(r"^-----BEGIN CERTIFICATE-----\n(?:(?!-----).*\n)*-----END CERTIFICATE-----\n", re.M)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--signer")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    certificates = list(dict.fromkeys(block for path in options.files for block in authorities(path)))
    parts = split(certificates)
    if len(parts) != 1 and not options.signer:
        sys.exit(f"bundle.py: {len(certificates)} certificates are {len(parts)} objects of at most 1 MiB: "
                 "give a --signer")
    prefix = options.signer.replace("/", ":") + ":" if options.signer else ""
    items = [{
        "apiVersion": "certificates.k8s.io/v1beta1", "kind": "ClusterTrustBundle",
        "metadata": {"name": f"{prefix}windlass{f'-{number}' if options.signer else ''}",
                     "labels": {"windlass": "trust"}},
        "spec": {**({"signerName": options.signer} if options.signer else {}), "trustBundle": "".join(part)},
    } for number, part in enumerate(parts)]
    json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout)


def authorities(path):
    """The certificates of CAs in a file. Asks openssl once about all."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            text = "".join(line.rstrip() + "\n" for line in file)
    except OSError as error:
        fail(path, error.strerror)
    kinds = BEGIN.findall(text)
    blocks = BLOCK.findall(text)
    others = ", ".join(dict.fromkeys(kind for kind in kinds if kind != "CERTIFICATE"))
    if not text.strip():
        fail(path, "it is empty")
    if "CERTIFICATE" not in kinds:
        fail(path, "it has no certificate (PEM)" + (f", but {others}" if others else ""))
    if len(blocks) != kinds.count("CERTIFICATE"):
        fail(path, "a certificate has no line that ends it, or is damaged")
    if others:
        say(path, f"left out: {others}")
    joined = openssl(path, "crl2pkcs7", "-nocrl", "-certfile", "/dev/stdin", input="".join(blocks))
    shown = openssl(path, "pkcs7", "-print_certs", "-text", "-noout", input=joined).split("\nCertificate:\n")
    texts = [shown[0].removeprefix("Certificate:\n"), *shown[1:]]
    if len(texts) != len(blocks):
        fail(path, "openssl can't read its certificates")
    others = [re.search("Subject: *(.*)", text)[1].replace(" = ", "=") for text in texts if "CA:TRUE" not in text]
    if len(others) == len(blocks):
        fail(path, f"it has no certificate of a CA, but {others[0]}")
    for subject in others:
        say(path, f"left out, as it is not a CA's: {subject}")
    return [block for block, text in zip(blocks, texts) if "CA:TRUE" in text]


def openssl(path, *arguments, input):
    try:
        done = subprocess.run(["openssl", *arguments], input=input, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False)
    except FileNotFoundError:
        fail(path, "the command openssl, which reads it, is not installed")
    return done.stdout if done.returncode == 0 else fail(path, "openssl can't read its certificates")


def say(path, what):
    print(f"bundle.py: {path}: {what}", file=sys.stderr)


def fail(path, why):
    say(path, why)
    sys.exit(1)


def split(certificates):
    parts = [[]]
    size = 0
    for block in certificates:
        if size + len(block) > LARGEST:
            parts.append([])
            size = 0
        parts[-1].append(block)
        size += len(block)
    return [part for part in parts if part]


if __name__ == "__main__":
    main()

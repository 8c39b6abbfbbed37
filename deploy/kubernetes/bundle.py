"""bundle.py [--signer DOMAIN/PATH] FILE...: ClusterTrustBundles with the certificates of PEM files, as JSON.

    python3 deploy/kubernetes/bundle.py /etc/ssl/certs/ca-certificates.crt | kubectl apply --server-side -f -

The API server takes no bundle with a certificate twice, or with one that is not a CA's; those are left out here, and
named on standard error. It takes 1 MiB in one object. With --signer there are as many objects as are needed, and the
kubelet joins them; without, there is one, named windlass. Needs the openssl command.
"""

import argparse
import json
import re
import subprocess
import sys

# certificates.MaxTrustBundleSize of Kubernetes.
LARGEST = 1 << 20
BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----\n.*?\n-----END CERTIFICATE-----\n", re.S)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--signer")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    text = "".join(open(path, encoding="ascii", errors="replace").read().replace("\r\n", "\n") + "\n"
                   for path in options.files)
    certificates = authorities(list(dict.fromkeys(BLOCK.findall(text))))
    parts = split(certificates)
    if len(parts) != 1 and not options.signer:
        sys.exit(f"{len(certificates)} certificates are {len(parts)} objects of at most 1 MiB: give a --signer")
    prefix = options.signer.replace("/", ":") + ":" if options.signer else ""
    items = [{
        "apiVersion": "certificates.k8s.io/v1beta1", "kind": "ClusterTrustBundle",
        "metadata": {"name": f"{prefix}windlass{f'-{number}' if options.signer else ''}",
                     "labels": {"windlass": "trust"}},
        "spec": {**({"signerName": options.signer} if options.signer else {}), "trustBundle": "".join(part)},
    } for number, part in enumerate(parts)]
    json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout)


def authorities(blocks):
    """Asks openssl once about all."""
    joined = openssl("crl2pkcs7", "-nocrl", "-certfile", "/dev/stdin", input="".join(blocks))
    shown = openssl("pkcs7", "-print_certs", "-text", "-noout", input=joined).split("\nCertificate:\n")
    texts = [shown[0].removeprefix("Certificate:\n"), *shown[1:]]
    if len(texts) != len(blocks):
        sys.exit("openssl can't read all of the certificates")
    for text in texts:
        if "CA:TRUE" not in text:
            print("left out, as it is not a CA's:", re.search("Subject:.*", text)[0], file=sys.stderr)
    return [block for block, text in zip(blocks, texts) if "CA:TRUE" in text]


def openssl(*arguments, input):
    done = subprocess.run(["openssl", *arguments], input=input, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout if done.returncode == 0 else sys.exit("openssl can't read all of the certificates")


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

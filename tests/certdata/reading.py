"""Reads certdata.txt for itself and prints what is said of each certificate, one a line:

SHA-1, label, trusted, distrusted, distrust after for servers and e-mail, trust for servers, e-mail and code.

With a folder of certificates as the second argument: of all certificates in certdata.txt it must have those that are
trusted for servers, and no other.
"""

import ast
import base64
import hashlib
import pathlib
import re
import sys


def objects(text):
    lines = iter(text.split("BEGINDATA\n", 1)[1].splitlines())
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        name, kind, *value = line.split(None, 2)
        if kind == "MULTILINE_OCTAL":
            digits = "".join(iter(lambda: next(lines).strip(), "END"))
            value = bytes(int(number, 8) for number in re.findall(r"\\([0-7]{3})", digits))
        elif kind == "UTF8":
            # C's escapes are bytes.
            value = ast.literal_eval(value[0]).encode("latin-1") if "\\x" in value[0] else value[0][1:-1].encode()
        else:
            value = value[0]
        if name == "CKA_CLASS":
            one = {}
            yield one
        assert name not in one, name
        one[name] = value


def main():
    found = list(objects(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
    trust = {(one["CKA_ISSUER"], one["CKA_SERIAL_NUMBER"]): one for one in found if one["CKA_CLASS"] == "CKO_NSS_TRUST"}
    certificates = [one for one in found if one["CKA_CLASS"] == "CKO_CERTIFICATE"]
    assert len(trust) == sum(one["CKA_CLASS"] == "CKO_NSS_TRUST" for one in found), "two statements of one certificate"
    for_servers = set()
    for one in certificates:
        said = trust[one["CKA_ISSUER"], one["CKA_SERIAL_NUMBER"]]
        assert said["CKA_CERT_SHA1_HASH"] == hashlib.sha1(one["CKA_VALUE"]).digest()
        words = [said[f"CKA_TRUST_{purpose}"] for purpose in ("SERVER_AUTH", "EMAIL_PROTECTION", "CODE_SIGNING")]
        trusted = "CKT_NSS_TRUSTED_DELEGATOR" in words
        distrusted = not trusted and "CKT_NSS_NOT_TRUSTED" in words
        if words[0] == "CKT_NSS_TRUSTED_DELEGATOR":
            for_servers.add(one["CKA_VALUE"])
        after = []
        for purpose in ("SERVER", "EMAIL"):
            days = [source.get(f"CKA_NSS_{purpose}_DISTRUST_AFTER") for source in (one, said)]
            days = [b"\0" if day == "CK_FALSE" else day for day in days if day is not None]
            # A day before no day.
            after.append(max(days).hex() if days else "-")
        print(
            hashlib.sha1(one["CKA_VALUE"]).hexdigest(),
            one["CKA_LABEL"].hex(),
            int(trusted),
            int(distrusted),
            *after,
            *words,
        )
    for path in sys.argv[2:]:
        made = {
            base64.b64decode("".join(file.read_text().splitlines()[1:-1])) for file in pathlib.Path(path).glob("*.crt")
        }
        # Debian has added roots of its own.
        made &= {one["CKA_VALUE"] for one in certificates}
        assert made == for_servers, (f"{len(made)} certificates in {path}, {len(for_servers)} for servers in "
                                     f"certdata.txt")
        print(f"The {len(made)} for servers are those in {path}.", file=sys.stderr)


main()

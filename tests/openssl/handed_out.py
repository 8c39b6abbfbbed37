#!/usr/bin/env python3
"""Every function of OpenSSL by which a certificate of a store could reach a program is known: handed-out.txt says of
each what becomes of it. The functions are read from the headers of each version, and compared with the symbols of its
libraries.

    handed_out.py [--builds 1.1.1w,system,3.5.5,4.0.3] [--list]

--list prints what the rules find and the list does not have.
"""

import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "differential"))
import builds  # noqa: E402

PRELOAD = ROOT / "adapters" / "preload" / "src" / "openssl"
VERSIONS = ("1.1.1w", "system", "3.5.5", "4.0.3")
VERDICTS = ("hooked", "ends-sharing", "not-a-stores", "of-what-it-has")

CERTIFICATES = r"\b(?:X509|stack_st_X509|X509_OBJECT|stack_st_X509_OBJECT)\b ?\*"
CALLED_WITH = CERTIFICATES + r"|\bX509_STORE_CTX\b ?\*"
# Where a certificate of a store can be found.
HOLDERS = (r"\b(?:X509_STORE_CTX|X509_STORE|SSL|SSL_CTX|SSL_CONNECTION|X509_LOOKUP|X509_OBJECT|OSSL_CMP_CTX|"
           r"CT_POLICY_EVAL_CTX|"
           r"SSL_SESSION|X509_POLICY_\w+)\b ?\*")
# What is inside one, or may be.
INSIDE = (r"\b(?:X509_NAME|stack_st_X509_NAME|EVP_PKEY|evp_pkey_st|X509_EXTENSION|ASN1_\w+|X509_ALGOR|X509_PUBKEY|"
          r"X509_POLICY_\w+|"
          r"stack_st_POLICYQUALINFO|void)\b ?\*")
# A symbol of these families that no header declares would be a way in all the same.
FAMILIES = r"X509_(?:STORE|LOOKUP|OBJECT|POLICY)_|SSL_(?:CTX_)?get[01]?_\w*(?:cert|chain)|X509_\w*chain"


def declarations(build):
    """All declarations of a version's headers, without macros and bodies."""
    include = pathlib.Path("/usr/include") if build == "system" else builds.prefix(build) / "include"
    headers = sorted(header.name for header in (include / "openssl").glob("*.h") if header.name != "asn1_mac.h")
    source = "".join(f"#include <openssl/{header}>\n" for header in headers)
    command = ["gcc", "-E", "-P", "-DOPENSSL_SUPPRESS_DEPRECATED", f"-I{include}", "-x", "c", "-"]
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    while (shorter := re.sub(r"\{[^{}]*\}", ";", text)) != text:
        text = shorter
    return [" ".join(one.split()) for one in text.split(";")]


def symbols(build):
    """What a version's libraries export."""
    if build == "system":
        known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
        paths = [re.search(rf"{name}\.so\.3 \(.*x86-64\) => (\S+)|{name}\.so\.3 \(.*\) => (\S+)", known)
                 for name in ("libcrypto", "libssl")]
        paths = [path[1] or path[2] for path in paths]
    else:
        paths = [builds.prefix(build) / "lib" / f"{name}.so" for name in ("libcrypto", "libssl")]
    found = set()
    for path in paths:
        out = subprocess.run(["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True,
                             check=True).stdout
        found |= {line.split()[-1].split("@")[0] for line in out.splitlines()}
    return found


def callbacks(declared):
    """Types of functions that are called with a certificate, a place for one, or in the middle of a verification."""
    found = set()
    for one in declared:
        match = re.match(r"typedef .*\(\*\s*(\w+)\)\s*\((.*)\)$",
                         one) or re.match(r"typedef \w[\w *]*?(\w+)\((.*)\)$", one)
        if match and re.search(CALLED_WITH, match[2]):
            found.add(match[1])
    return found


def why(result, arguments, called):
    """The rule by which a function may hand out a certificate, or what is inside one; None: it can't."""
    def is_called(text):
        return any(re.search(rf"\b{name}\b", text) for name in called)

    if re.search(CERTIFICATES, result):
        return "returns it"
    if re.search(r"\b(?:X509|stack_st_X509) ?\* ?\*", arguments):
        return "stores it"
    if re.search(r"(?<!const )\bX509_OBJECT ?\*", arguments):
        return "fills an object"
    if re.search(r"(?<!const )(?<!const struct )\bstack_st_X509(?:_OBJECT)? ?\*(?! ?\*)", arguments):
        return "takes a stack that it may add to"
    if re.search(rf"\(\*.*(?:{CALLED_WITH})", arguments) or is_called(arguments):
        return "takes a function that is called with it"
    if is_called(result):
        return "returns a function that hands it out"
    if re.search(HOLDERS, arguments) and re.search(INSIDE, result):
        return "returns what may be inside one"
    return None


def candidates(build):
    """The functions of a version that could hand out a store's certificate, with the rule that says so."""
    declared, exported = declarations(build), symbols(build)
    called, found, known = callbacks(declared), {}, set()
    for one in declared:
        match = re.match(r"(?:extern )?(?!typedef)(.*?)\(?\b(\w+)\)?\s*\((.*)\)(?: __attribute__.*)?$", one)
        if match and match[2] in exported:
            known.add(match[2])
            if rule := why(match[1], match[3], called):
                found[match[2]] = rule
    for name in exported - known:
        if re.match(FAMILIES, name):
            found[name] = "no header declares it"
    return found, exported


def decided():
    """handed-out.txt: the verdict and the reason for each function."""
    result = {}
    for number, line in enumerate((HERE / "handed-out.txt").read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, verdict, reason = (part.strip() for part in line.split("|", 2))
        if verdict not in VERDICTS or not reason or name in result:
            sys.exit(f"handed-out.txt:{number}: {line}")
        result[name] = verdict
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--builds", default=",".join(VERSIONS))
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    known, wrong, exported, count = decided(), [], set(), 0
    for build in options.builds.split(","):
        found, symbols_of_build = candidates(build)
        exported |= symbols_of_build
        count += len(found)
        if len(found) < 100:
            wrong.append(f"OpenSSL {build}: only {len(found)} functions were found in its headers")
        for name, rule in sorted(found.items()):
            if name not in known:
                known[name] = "unknown"
                wrong.append(f"{name} | | OpenSSL {build}: {rule}")
    if options.list:
        print("\n".join(wrong))
        return 0
    if options.builds == ",".join(VERSIONS):
        wrong += [f"{name}: no version has it" for name in known if name not in exported]
    hooks = set(re.findall(r"^    fn (\w+)\(", (PRELOAD / "hooks.rs").read_text(), re.M))
    ending = set(re.findall(r'Name::new\(c"(\w+)"\)', (PRELOAD / "users.rs").read_text()))
    handed_out = set(re.findall(r"^    fn (\w+)\([^;]*=> (?:handed_out|taking_part)::",
                                (PRELOAD / "hooks.rs").read_text(), re.M))
    wrong += [f"{name}: is said to be hooked, and is not" for name, verdict in known.items() if verdict == "hooked"
              and name not in hooks]
    wrong += [f"{name}: is hooked in handed_out.rs or taking_part.rs, and not in the list"
              for name in handed_out if known.get(name) != "hooked"]
    said = {name for name, verdict in known.items() if verdict == "ends-sharing"}
    wrong += [f"{name}: ends sharing in one of the list and users.rs only" for name in sorted(said ^ ending)]
    print("\n".join(wrong + [f"{count} functions of {options.builds}, {len(known)} names: {len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

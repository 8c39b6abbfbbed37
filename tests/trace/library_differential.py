"""The drivers of the differential tests, stock and under the trace library: everything that a program could see has to
be the same, on every OpenSSL and GnuTLS, and the library has to have recorded something meanwhile."""

import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile
import zlib

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "differential"), str(TESTS / "gnutls")]

import builds  # noqa: E402
import compare as gnutls  # noqa: E402
import corpus  # noqa: E402
import libraries  # noqa: E402
import run as openssl  # noqa: E402

SHOWN = 5


def differences(library, sample):
    """[(what, why)] for each script whose output differs or that left no usable events, and how many were run."""
    jobs = [(one_openssl, build, case) for build in builds.BUILDS for case in corpus.cases(corpus.SUITES)
            if case.wants(build) and wanted(build, case, sample)]
    jobs += [(one_gnutls, build, case) for build in libraries.BUILDS for case in gnutls.cases(gnutls.SUITES)
             if wanted(build, case, sample)]
    for build in builds.BUILDS:
        builds.driver(build)
    for build in libraries.BUILDS:
        libraries.driver(build)
    loads = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = []
        for (one, build, case), (why, count) in zip(jobs, pool.map(lambda job: job[0](library, *job[1:]), jobs)):
            key = f"{one.__name__[4:]} {build}"
            loads[key] = loads.get(key, 0) + count
            if why:
                found.append((f"{key} {case.suite}/{case.name}", why))
    found += [(key, "no load was recorded at all") for key, count in loads.items() if not count]
    return found, len(jobs)


def wanted(build, case, sample):
    return zlib.crc32(f"{build} {case.name}".encode()) % sample == 0


def one_openssl(library, build, case):
    stock = openssl.run_driver(build, case, "stock", None, {})
    with tempfile.NamedTemporaryFile(prefix="windlass-trace-") as file:
        traced = openssl.run_driver(build, case, "traced", library, {"WINDLASS_TRACE": file.name})
        return judge(stock, traced, file.name)


def one_gnutls(library, build, case):
    stock, _ = gnutls.run_driver(build, case)
    with tempfile.NamedTemporaryFile(prefix="windlass-trace-") as file:
        traced, _ = gnutls.run_driver(build, case, library, {"WINDLASS_TRACE": file.name})
        return judge(stock, traced, file.name)


def judge(stock, traced, file):
    events = [json.loads(line) for line in pathlib.Path(file).read_text().splitlines()]
    loads = [event for event in events if event["e"] == "load"]
    if stock != traced:
        pairs = openssl.differences(stock, traced) or [(stock, traced)]
        return "\n".join(f"stock: {old}\n  now: {new}" for old, new in pairs[:SHOWN]), len(loads)
    if [event["e"] for event in events[:1]] != ["process"]:
        return "the first event is not that of the process", len(loads)
    return None, len(loads)

"""What the consumers decide about a server's certificate, for each of many places. With the token never more is
trusted."""

import os
import re

import places


class PlaceCases:
    """A case for each consumer, and in it each place."""

    def __init__(self, pki, programs):
        self.pki, self.programs, self.places = pki, programs, places.make(pki)

    def all(self):
        yield "places vfychain", lambda side: self.vfychain(side, [])
        yield "places vfychain of the newest NSS", lambda side: self.vfychain(side, side.newest_nss)
        yield "places newest NSS asks for CKO_TRUST", self.trust_objects
        yield "places gnutls", self.gnutls
        yield "places trust list", self.trust_list
        yield "a process id used again", self.reused

    def vfychain(self, side, nss):
        """`nss`: how to start the commands of another NSS than the machine's."""
        seen = {}
        for name, place in self.places.items():
            database = self.database(side, name, place)
            command = [*nss, "vfychain", "-d", database, "-u", "1", "-a", self.pki.chain]
            text = side.run(self.pki.bundles["absent"], *command, fails=None)
            seen[name] = "Chain is good" in text
        return self.judged(side, {name: (trusted, self.places[name].trusted) for name, trusted in seen.items()})

    def trust_objects(self, side):
        log = self.pki.path("nss-log-" + side.name)
        variables = ["env", "NSS_DEBUG_PKCS11_MODULE=roots", "NSPR_LOG_MODULES=all:5", "NSPR_LOG_FILE=" + log]
        for name, trusted in (("anchor", True), ("blocked by number", False)):
            database = self.database(side, name, self.places[name])
            command = [*variables, *side.newest_nss, "vfychain", "-d", database, "-u", "1", "-a", self.pki.chain]
            text = side.run(self.pki.bundles["absent"], *command, fails=None)
            assert ("Chain is good" in text) == trusted, text
            with open(log, encoding="utf-8", errors="replace") as file:
                asked = re.findall(r"CKA_CLASS = (CKO_\w*TRUST)", file.read())
            # p11-kit has none of these objects, and NSS falls back on its own.
            assert "CKO_TRUST" in asked and ("CKO_NSS_TRUST" in asked or side.name == "windlass"), asked

    def gnutls(self, side):
        seen = {}
        for name, place in self.places.items():
            # GnuTLS gives no paths to a module: here the machine's bundle is the place.
            if len(place.paths) == 1:
                text = side.run_at(place.paths[0], self.programs["verify"], "pkcs11:", self.pki.chain)
                seen[name] = "is trusted" in text
        return self.judged(side, {name: (trusted, self.places[name].gnutls) for name, trusted in seen.items()})

    def trust_list(self, side):
        listed = {}
        for name, place in self.places.items():
            if place.same:
                text = side.run_with_paths(place.paths, "trust", "list")
                listed[name] = sorted(part for part in text.split("\n\n") if part.strip())
        assert any("distrusted" in part for part in listed["two places, one blocks"]), listed
        return listed

    def reused(self, side):
        if side.name == "windlass":
            text = side.run(self.pki.bundles["trusted"], "unshare", "--pid", "--fork", self.programs["reused"],
                            side.module)
            assert text.splitlines() == ["same id 1", "uninitialised 1", "initialised 1"], text

    def judged(self, side, seen):
        """Each verdict must be that of the place; p11-kit's may be kinder where that is said to differ."""
        for name, (trusted, wanted) in seen.items():
            kinder = side.name == "p11-kit" and not self.places[name].same and trusted
            assert wanted is None or trusted == wanted or kinder, (side.name, name, seen)
        return {name: trusted for name, (trusted, _) in seen.items() if self.places[name].same}

    def database(self, side, name, place):
        folder = self.pki.path(f"nss-{side.name}-{name.replace(' ', '-').replace(',', '')}")
        if os.path.isdir(folder):
            return "sql:" + folder
        os.mkdir(folder)
        bundle = self.pki.bundles["absent"]
        side.run(bundle, "certutil", "-N", "-d", "sql:" + folder, "--empty-password")
        paths = ":".join(place.paths)
        command = ["modutil", "-dbdir", "sql:" + folder, "-add", "roots", "-libfile", side.module, "-force"]
        side.run(bundle, *command, "-string", f"paths='{paths}'")
        return "sql:" + folder

"""programs/reach.c, stores.c and local.c: what the real programs don't reach of libcrypto and libssl."""

from cases import Case


def cases(world):
    pki, program = world.pki, world.built["reach.c"]
    paths = {"bundle": pki.bundle, "capath": pki.capath, "leaf": pki.path("good.crt"), "chain": pki.path("good.pem"),
             "key": pki.path("good.key"), "root": pki.path("root.crt"), "twin": pki.path("twin.crt"),
             "intermediate": pki.path("intermediate.crt"), "broken": pki.broken, "empty": pki.empty,
             "twins": pki.twins}
    env = {"REACH_" + name.upper(): path for name, path in paths.items()}
    env["SSL_CERT_FILE"] = pki.bundle

    def reach(what, *shows, **wanted):
        return Case(f"C: {what}", lambda side: side.run([program, what], {**env, "REACH_PLACE": world.place.folder}),
                    shows=shows, **wanted)

    yield reach("objects", f"defaults: {pki.count} objects", r"after verify: 1 ok")
    yield reach("certs_by_subject", r"get1_certs: [1-9]")
    yield reach("duplicates", r"twice: 1")
    yield reach("shadowing", r"own twin first: ")
    yield reach("client_ca_names", f"TLSv1.3: {pki.name_count} names", f"TLSv1.2: {pki.name_count} names")
    yield reach("server_chain", r"sent: 3 certificates")
    yield reach("own_objects", r"alias: none", r"rejected here: 0", r"next store: 1")
    yield reach("error_queue", r"left: .*system library", r"missing: 0")
    yield reach("shared_store", r"second context: 1")
    yield reach("forks", r"child: 1 1")
    yield reach("threads", r"threads: 64 of 64")
    def stores(what, *shows, **more):
        return Case(f"C: {what}", lambda side: side.run([world.built["stores.c"], what], env), shows=shows, **more)

    yield stores("deleted_root", r"deleted: verdict 0")
    # A load into a store whose stack the program has is left to libcrypto: the program may have taken something out.
    yield stores("live_stack", f"seen later: {pki.count}", served=None, bypassed="shared-subject")
    yield stores("two_locks", r"root beside its twin: verdict 1", f"both locked: {pki.count} objects")
    yield stores("own_method", r"root beside its twin: verdict 1")
    yield stores("own_method_file", r"root beside its twin: verdict 1", f"objects: {pki.count + 1}")
    yield stores("late_provider", r"without a provider: verdict 0", r"with one: verdict 1", r"again: verdict 1")
    yield stores("first_verifications", r"first verifications: 3200 of 3200")
    yield Case("C: libssl by dlopen(RTLD_LOCAL) and dlsym", lambda side: side.run([world.built["local.c"]]),
               shows=(f"dlopen: 1 {pki.system_count}",))
    for function in ("X509_STORE_load_locations", "X509_STORE_load_file", "X509_STORE_set_default_paths"):
        for disabled in ({}, {"WINDLASS_DISABLE": "1"}):
            yield Case(f"C: {function} by dlsym{', switched off' if disabled else ''}",
                       lambda side, function=function, disabled=disabled: side.run(
                           [world.built["direct.c"], function, pki.bundle], {"SSL_CERT_FILE": pki.bundle, **disabled}),
                       served=None, shows=(f"{function}: 1 {pki.count}",))
    yield Case("C: errno of a failing load", lambda side: side.run(
        [world.built["stores.c"], "errno_of_failure"], {**env, "WINDLASS_STORE": world.place.folder}), served=None,
        shows=(r"broken: 0 errno 0", r"missing: 0 errno 2"))

"""The CEL expressions of the policies, each written once for containers and init containers."""

LIBRARY, TRUST = "/opt/windlass", "/etc/windlass/trust"
BUNDLE = f"{TRUST}/ca-certificates.crt"
KINDS = ("containers", "initContainers")
# Only glibc's loader replaces $LIB, and so finds the library. musl's could not load it, and would end the program; it
# looks for a directory of that very name, and goes on without a word.
PRELOAD = f'"{LIBRARY}/library/$LIB/libwindlass_preload.so"'
JAVA_OPTIONS = (f"-Djava.security.properties={LIBRARY}/library/java/windlass.security",
                "-Djavax.net.ssl.trustStoreType=PKCS11", "-Djavax.net.ssl.trustStore=NONE")

MATCHES = """  matchConstraints:
    resourceRules:
      - apiGroups: [""]
        apiVersions: ["v1"]
        operations: ["CREATE"]
        resources: ["pods"]
  matchConditions:
    # Such a pod stands for a file of the kubelet's and must stay equal to it.
    - name: not-a-mirror-pod
      expression: '!("kubernetes.io/config.mirror" in object.metadata.?annotations.orValue({}))'
    - name: linux
      expression: 'object.spec.?os.?name.orValue("linux") == "linux"'
"""
IN_NAMESPACES = """    namespaceSelector:
      matchLabels: {windlass: enabled}
    objectSelector:
      matchExpressions:
        - {key: windlass, operator: NotIn, values: [disabled]}
"""
IN_PODS = """    objectSelector:
      matchLabels: {windlass: enabled}
"""


# Variables can't be objects of the API's types: they are maps, and dyn() lets the values of one be of several kinds.
def image_volume(reference):
    return f"""{{
  "name": dyn("windlass-library"),
  "image": dyn({{
    "reference": "{reference}",
    "pullPolicy": "IfNotPresent"
  }})
}}"""


HOST_VOLUME = f"""{{
  "name": dyn("windlass-library"),
  "hostPath": dyn({{"path": "{LIBRARY}"}})
}}"""
EMPTY_VOLUME = """{
  "name": dyn("windlass-library"),
  "emptyDir": dyn({})
}"""
# Pod security "baseline" and "restricted" refuse pods with host paths.
HOST_PATHS_ALLOWED = """!(namespaceObject.metadata.?labels[?"pod-security.kubernetes.io/enforce"].orValue("privileged")
  in ["baseline", "restricted"])"""


def installers(image):
    """Passes pod security "restricted", whatever the pod itself says."""
    return f"""[{{
  "name": dyn("windlass-library"),
  "image": dyn("{image}"),
  "command": dyn(["/bin/install-library", "{LIBRARY}"]),
  "resources": dyn({{
    "requests": {{"cpu": "10m", "memory": "8Mi"}},
    "limits": {{"memory": "32Mi"}}
  }}),
  "securityContext": dyn({{
    "allowPrivilegeEscalation": dyn(false),
    "capabilities": dyn({{"drop": ["ALL"]}}),
    "readOnlyRootFilesystem": dyn(true),
    "runAsNonRoot": dyn(true),
    "runAsUser": dyn(65532),
    "seccompProfile": dyn({{"type": "RuntimeDefault"}})
  }}),
  "volumeMounts": dyn([{{"name": "windlass-library", "mountPath": "{LIBRARY}"}}])
}}]"""


def items(kind):
    return f"object.spec.{kind}" if kind == "containers" else f"object.spec.?{kind}.orValue([])"


def occupied(place):
    """Something is mounted there: by us, on an earlier pass, or by the pod itself."""
    return f"""c.?volumeMounts.orValue([]).exists(m,
    (m.mountPath + "/").startsWith("{place}/"))"""


# A variable that comes from a ConfigMap or a Secret can be neither read nor joined here, and the pod's own wins: unless
# it says that there is none.
FROM_ELSEWHERE = """c.?envFrom.orValue([]).size() > 0
    && object.metadata.?labels[?"windlass-env-from"].orValue("") != "ignore\""""


def takes_library():
    return f"""variables.allowed
  && !{occupied(LIBRARY)}
  && !({FROM_ELSEWHERE})
  && !c.?env.orValue([]).exists(e, e.name == "LD_PRELOAD" && has(e.valueFrom))"""


def takes_trust():
    return f"""!{occupied(TRUST)}
  && !({FROM_ELSEWHERE})"""


def any_takes(wanted):
    return "\n|| ".join(f"{items(kind)}.exists(c, {wanted})" for kind in KINDS)


def add_volume(name, wanted):
    return f"""(object.spec.?volumes.orValue([]).exists(v, v.name == "{name}")
|| !({any_takes(wanted)}) ? [] : [
  has(object.spec.volumes)
    ? JSONPatch{{op: "add", path: "/spec/volumes/-", value: variables.volume}}
    : JSONPatch{{op: "add", path: "/spec/volumes", value: [variables.volume]}}
])"""


def for_each(kind, wanted, field, value):
    return f"""{items(kind)}.transformList(i, c,
  {wanted},
  JSONPatch{{
    op: "add", path: "/spec/{kind}/" + string(i) + "/{field}",
    value: {value}
  }})"""


def mount(kind, wanted, name, place):
    return for_each(kind, wanted, "volumeMounts", f"""c.?volumeMounts.orValue([]) + [{{
      "name": dyn("{name}"), "mountPath": dyn("{place}"), "readOnly": dyn(true)
    }}]""")


def set_preload(kind):
    """In its place in the list, as later variables may refer to it."""
    return for_each(kind, takes_library(), "env", """c.?env.orValue([]).map(e,
        e.name != "LD_PRELOAD" || e.?value.orValue("").contains("libwindlass_preload.so") ? e : dyn({
          "name": "LD_PRELOAD",
          "value": variables.preload + (e.?value.orValue("") == "" ? "" : ":" + e.value)
        }))
      + (c.?env.orValue([]).exists(e, e.name == "LD_PRELOAD") ? [] : [
        dyn({"name": "LD_PRELOAD", "value": variables.preload})
      ])""")


def install():
    """The containers of an overlay that fill the volume, before all others; the last change, as it moves the others."""
    return f"""(variables.installers.size() == 0 || !({any_takes(takes_library())})
|| object.spec.?initContainers.orValue([]).exists(c, c.name == "windlass-library") ? []
: has(object.spec.initContainers)
  ? variables.installers.map(c, JSONPatch{{op: "add", path: "/spec/initContainers/0", value: c}})
  : [JSONPatch{{op: "add", path: "/spec/initContainers", value: variables.installers}}])"""


def projected(source):
    return f"""{{
  "name": dyn("windlass-trust"),
  "projected": dyn({{"sources": [{source}]}})
}}"""


# Bundles of a signer are joined by the kubelet: all that have the label.
BUNDLE_VOLUME = projected("""{
    "clusterTrustBundle": params.spec.?signerName.orValue("") == ""
      ? dyn({"name": params.metadata.name, "path": dyn("ca-certificates.crt")})
      : dyn({
          "signerName": dyn(params.spec.signerName),
          "labelSelector": dyn({"matchLabels": {"windlass": "trust"}}),
          "path": dyn("ca-certificates.crt")
        })
  }""")
CONFIG_MAP_VOLUME = projected("""{
    "configMap": {
      "name": dyn(params.metadata.name),
      "items": dyn([{"key": "ca-certificates.crt", "path": "ca-certificates.crt"}])
    }
  }""")


def environment(here):
    """The bundle is all the trust there is, so the image's directory of CAs is not asked either."""
    table = (here / "../../crates/windlass-run/src/add_ca/variables.txt").read_text(encoding="utf-8")
    rows = [line.split()[:2] for line in table.splitlines() if line and not line.startswith("#")]
    named = {name: BUNDLE for name, kind in rows if kind in ("replaces", "adds")}
    named["SSL_CERT_DIR"] = TRUST
    # For the libraries that name the image's own bundle: the preload library adds ours.
    named["WINDLASS_ADD_CA"] = BUNDLE
    # For the token, if something loads it.
    named["WINDLASS_TRUST_PATHS"] = BUNDLE
    # For programs with one context: the cluster distributes the trust, and nobody reloads them.
    named["WINDLASS_FOLLOW"] = "1"
    lines = [f'  {{"name": "{name}", "value": "{value}"}}' for name, value in named.items()]
    return "[\n" + ",\n".join(lines) + "\n]"


def set_environment(kind):
    """What the container sets itself stays. The two variables of OpenSSL are one setting."""
    return for_each(kind, takes_trust(), "env", """c.?env.orValue([]) + variables.environment.filter(v,
      !c.?env.orValue([]).exists(e, e.name == v.name
        || (e.name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] && v.name in ["SSL_CERT_FILE", "SSL_CERT_DIR"])))""")


def java(kind):
    """In both policies: which of them comes last is not known."""
    mounted = "\n  && ".join(
        f'c.?volumeMounts.orValue([]).exists(m,\n    m.name == "{name}" && m.mountPath == "{place}")'
        for name, place in (("windlass-library", LIBRARY), ("windlass-trust", TRUST)))
    options = '\n          + " '.join(f'{option}"' for option in JAVA_OPTIONS)
    return for_each(kind, f"""object.metadata.?labels[?"windlass-java"].orValue("") == "token"
  && !c.?env.orValue([]).exists(e, e.name == "JDK_JAVA_OPTIONS")
  && {mounted}""", "env", f"""c.?env.orValue([]) + [{{
        "name": "JDK_JAVA_OPTIONS",
        "value": "{options}
      }}]""")


WARNING_VARIABLES = [
    ("all", """object.spec.containers
  + object.spec.?initContainers.orValue([]).filter(c, c.name != "windlass-library")"""),
    ("withoutLibrary", """variables.all.filter(c,
  !c.?volumeMounts.orValue([]).exists(m, m.name == "windlass-library")).map(c, c.name)"""),
    ("fromElsewhere", f"variables.all.filter(c, {FROM_ELSEWHERE}).map(c, c.name)"),
    ("own", f"""variables.all.filter(c, c.?env.orValue([]).exists(e,
  e.name in ["SSL_CERT_FILE", "SSL_CERT_DIR"]
  && !e.?value.orValue("").startsWith("{TRUST}"))).map(c, c.name)"""),
]
WARNINGS = [
    ("variables.withoutLibrary.size() == 0 || variables.fromElsewhere.size() > 0",
     """"windlass: " + variables.withoutLibrary.join(", ") + " runs without the library: /opt/windlass or LD_PRELOAD is"
+ " the pod's own, or the namespace allows no host paths\""""),
    ("""object.spec.?volumes.orValue([]).exists(v, v.name == "windlass-trust")
|| variables.fromElsewhere.size() > 0""",
     """"windlass: the pod keeps the trust of its image: nothing that the cluster offers has the label windlass=trust"
+ " (a ClusterTrustBundle, or a ConfigMap in this namespace)\""""),
    ("variables.fromElsewhere.size() == 0",
     """"windlass: " + variables.fromElsewhere.join(", ") + " is left alone: its envFrom may hold LD_PRELOAD or"
+ " SSL_CERT_FILE, which would be overridden; the pod's label windlass-env-from=ignore says that it does not\""""),
    ("variables.own.size() == 0",
     """"windlass: " + variables.own.join(", ") + " names trust of its own in SSL_CERT_FILE or SSL_CERT_DIR, which does"
+ " not follow the cluster's\""""),
]

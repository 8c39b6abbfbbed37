# Turns an OpenSSL ordinals file (util/libcrypto.num, util/libssl.num) into a GNU
# ld version script, as upstream's util/mkdef.pl does (the crate openssl-src
# carries the former and not always the latter). Use:
#     sort -V -k3,3 libcrypto.num | awk -f version-script.awk
# Columns: symbol, ordinal, version with "_" for ".", EXIST|NOEXIST:platforms:kind:features.
# A symbol that the configuration left out is only a name without a definition,
# which ld ignores.
BEGIN { previous = "" }
$4 !~ /^EXIST:/ { next }
{
    version = $3
    # 1.1.x spells its nodes OPENSSL_1_1_0, later releases OPENSSL_3.0.0.
    if (version !~ /^1_/) gsub("_", ".", version)
    if (version != current) {
        if (current != "") close_node()
        current = version
        printf "OPENSSL_%s {\n    global:\n", version
    }
    printf "        %s;\n", $1
}
END { if (current != "") close_node() }
function close_node() {
    if (previous == "") print "    local: *;\n};"
    else printf "} OPENSSL_%s;\n", previous
    previous = current
}

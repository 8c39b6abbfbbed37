#!/bin/sh
# What Windlass gains on this machine: its own programs, its own trust store, with and without. Needs neither root nor
# a network; takes less than a minute. CARGO_TARGET_DIR names a build other than target/.
set -eu
cd "$(dirname "$0")/.."
windlass=${CARGO_TARGET_DIR:-target}/release/windlass
[ -x "$windlass" ] || { echo "$windlass is missing: run \`make build\` first" >&2; exit 2; }

# The trust store is looked for as the programs do it: by default, not through variables of this shell.
unset SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE LD_PRELOAD WINDLASS_DISABLE WINDLASS_MAX_AGE || true
export LC_ALL=C.UTF-8
folder=$(mktemp -d)
server=
trap 'test -z "$server" || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

has() { command -v "$1" >/dev/null 2>&1; }

if ! has python3 && ! has ruby && ! has php && ! has curl && ! has openssl; then
    echo "None of python3, ruby, php, curl and openssl is installed here," \
        "so there is no program to show the gain with." >&2
    exit 2
fi

# The bundle the openssl command would use here; other programs on this machine use it as well.
bundle=
for file in "$(openssl version -d 2>/dev/null | sed 's/.*"\(.*\)"/\1/')/cert.pem" /etc/ssl/certs/ca-certificates.crt \
        /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem /etc/ssl/ca-bundle.pem; do
    if [ -r "$file" ]; then bundle=$file; break; fi
done
if [ -z "$bundle" ]; then
    echo "No bundle of CA certificates was found (on Debian: the package ca-certificates)," \
        "so no program pays for one." >&2
    exit 2
fi
roots=$(grep -c -e '-----BEGIN CERTIFICATE-----' "$bundle")
echo "Each program trusts the $roots roots of $bundle."
echo

# ms N COMMAND...: the median duration of N runs in milliseconds, into $taken; what it costs to take the time is in it.
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
now() { date +%s%N; }
once() {
    begin=$(now)
    "$@" >"$folder/out" 2>&1 || true
    end=$(now)
    echo $((end - begin))
}

row() { # program, what, stock ns, Windlass ns, remark
    awk -v program="$1" -v what="$2" -v stock="$3" -v ours="$4" -v remark="$5" 'BEGIN {
        printf "%-9s %-46s %9.2f ms %9.2f ms %7.1fx  %s\n",
            program, what, stock / 1e6, ours / 1e6, stock / ours, remark }'
}

# Windlass counts what it served; a program that brings its own OpenSSL in statically has nothing served.
served() { # COMMAND…
    "$windlass" run --stats=json -- "$@" 2>&1 >/dev/null | tail -n 1 | grep -q '"served":[1-9]'
}

compare() { # program, what, COMMAND…: the command prints nanoseconds, several lines of them
    program=$1; what=$2; shift 2
    if ! "$@" >"$folder/stock" 2>"$folder/why" || ! [ -s "$folder/stock" ]; then
        printf '%-9s %s\n' "$program" "skipped: it cannot make verifying contexts here"
        return
    fi
    "$windlass" run -- "$@" >"$folder/ours"
    if served "$@"; then remark=; else remark="not reached: it does not use a shared OpenSSL library"; fi
    row "$program" "$what" "$(median <"$folder/stock")" "$(median <"$folder/ours")" "$remark"
}

compare_whole() { # program, what, COMMAND…: the whole command, alternating
    program=$1; what=$2; shift 2
    : >"$folder/stock"; : >"$folder/ours"
    "$@" >"$folder/shown" 2>&1 && stock_status=0 || stock_status=$?
    "$windlass" run -- "$@" >"$folder/shown.ours" 2>&1 && status=0 || status=$?
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        once "$@" >>"$folder/stock"
        once "$windlass" run -- "$@" >>"$folder/ours"
    done
    if ! cmp -s "$folder/shown" "$folder/shown.ours" || [ "$status" != "$stock_status" ]; then
        remark="DIFFERENT OUTPUT"
    elif served "$@"; then
        remark=
    else
        remark="not reached: it does not use a shared OpenSSL library"
    fi
    row "$program" "$what" "$(median <"$folder/stock")" "$(median <"$folder/ours")" "$remark"
}

start_server() { # an HTTPS server on a free port, with the openssl command
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$folder/key.pem" -out "$folder/leaf.pem" -days 2 \
        -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null || return 1
    cat "$bundle" "$folder/leaf.pem" >"$folder/bundle.pem"
    for port in 44301 45871 47211 48947; do
        # Ends by itself after two minutes, whatever becomes of this script.
        timeout 120 openssl s_server -accept "127.0.0.1:$port" -www -key "$folder/key.pem" -cert "$folder/leaf.pem" \
            >/dev/null 2>&1 </dev/null &
        server=$!
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            kill -0 "$server" 2>/dev/null || break
            if curl -s -o /dev/null --cacert "$folder/leaf.pem" "https://127.0.0.1:$port/"; then return 0; fi
            sleep 0.2
        done
        kill "$server" 2>/dev/null || true
        server=
    done
    return 1
}
start_listener() { # something that takes connections and answers none, for machines without the openssl command
    has cc && cc -o "$folder/listen" bench/programs/listen.c || return 1
    "$folder/listen" >"$folder/port" &
    server=$!
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        if [ -s "$folder/port" ]; then port=$(cat "$folder/port"); return 0; fi
        sleep 0.1
    done
    return 1
}

head_line() { printf '%-9s %-46s %12s %12s %8s\n' program "$1" stock Windlass gain; }

first_root="$folder/root.pem"
awk '/-----BEGIN CERTIFICATE-----/ { on = 1 } on { print } /-----END CERTIFICATE-----/ { exit }' \
    "$bundle" >"$first_root"

head_line 'the whole command'
if ! has curl; then
    echo "curl      skipped: not installed"
elif ! has openssl && start_listener; then
    compare_whole curl 'HTTPS GET that the server hangs up on' curl -sS --cacert "$bundle" "https://127.0.0.1:$port/"
elif ! has openssl || ! start_server; then
    echo "curl      skipped: no server for it to talk to could be started"
else
    # The server's page is different each time, so only the status is kept.
    compare_whole curl 'HTTPS GET from this machine' curl -sS -o /dev/null -w '%{http_code}\n' \
        --cacert "$folder/bundle.pem" "https://127.0.0.1:$port/"
fi
if has openssl; then
    compare_whole openssl 'openssl verify' openssl verify -no-CAstore "$first_root"
else
    echo "openssl   skipped: not installed"
fi
if has ruby; then
    compare_whole ruby 'verifying one certificate' ruby -ropenssl -e '
store = OpenSSL::X509::Store.new
store.set_default_paths
puts store.verify(OpenSSL::X509::Certificate.new(File.read(ARGV[0])))' "$first_root"
else
    echo "ruby      skipped: not installed"
fi
if has python3; then
    compare_whole python3 'ssl.create_default_context()' python3 -c 'import ssl; ssl.create_default_context()'
else
    echo "python3   skipped: not installed"
fi

echo
head_line 'one step in a process that repeats it'
if has ruby; then
    compare ruby 'a store with default paths that verifies' ruby -ropenssl -e '
root = OpenSSL::X509::Certificate.new(File.read(ARGV[0]))
31.times do
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  store = OpenSSL::X509::Store.new
  store.set_default_paths
  store.verify(root) or raise "not verified"
  puts Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - start
end' "$first_root"
fi
if has php && php -r 'exit(extension_loaded("openssl") ? 0 : 1);'; then
    # shellcheck disable=SC2016  # PHP's own variables
    compare php 'openssl_x509_checkpurpose()' php -r '
$root = file_get_contents($argv[1]);
for ($i = 0; $i < 31; $i++) {
    $begin = hrtime(true);
    openssl_x509_checkpurpose($root, X509_PURPOSE_ANY);
    echo hrtime(true) - $begin, "\n";
}' "$first_root"
else
    echo "php       skipped: not installed, or without its openssl extension"
fi
if has python3; then
    compare python3 'ssl.create_default_context(), not yet used' python3 -c '
import ssl, time
for _ in range(31):
    begin = time.perf_counter_ns()
    ssl.create_default_context()
    print(time.perf_counter_ns() - begin)'
fi

for program in openssl ruby python3; do
    if has $program; then break; fi
done
case $program in
    openssl) set -- openssl verify -no-CAstore "$first_root" ;;
    ruby) set -- ruby -ropenssl -e 'OpenSSL::X509::Store.new.set_default_paths' ;;
    *) set -- python3 -c 'import ssl; ssl.create_default_context()' ;;
esac
has "$program" || exit 0
echo
echo "What Windlass counted (windlass run --stats -- $program …):"
"$windlass" run --stats -- "$@"

#!/bin/sh
# each.sh COMMAND...: runs it once for each URL that comes on standard input, which is its last argument.
while read -r url; do
    if "$@" "$url" >/dev/null 2>&1; then echo accepted; else echo refused; fi
done

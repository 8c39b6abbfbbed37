#!/bin/sh
# The gem in real Rubies. Builds it, installs it from the file into a folder of its own for each Ruby, and runs programs
# there. No network.
#
#   tests/ruby/run.sh                  all cases, with /usr/bin/ruby
#   tests/ruby/run.sh fork threads     the cases whose name contains one of these
#   tests/ruby/run.sh --ruby RUBY ...  with these Rubies
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
/usr/bin/ruby ruby/build.rb "$target/release/libwindlass_preload.so" "$target/gems" >/dev/null
exec env -i HOME="${HOME:-/}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    TMPDIR="${TMPDIR:-/tmp}" /usr/bin/python3 -B tests/ruby/harness/main.py --gems "$target/gems" \
        --library "$target/release/libwindlass_preload.so" "$@"

#!/usr/bin/env bash
# hyperclock beside other caches, by the same loops: compare/.
#
#   ci/compare.sh                     a smoke test: every workload on every cache with few entries, once; the figures say nothing
#   ci/compare.sh --long [OPTION ..]  what docs/benchmarks.md reports, in Markdown; up to 25 minutes on an idle machine
#
# Options after --long go to `hyperclock-compare all`, for example `--threads 1,4,16`. A cache whose hit ratio cannot be right
# ends either run with status 3.
set -euo pipefail
cd "$(dirname "$0")/.."

long=no
case "${1:-}" in
    "") ;;
    --long) long=yes; shift ;;
    *) echo "usage: ci/compare.sh [--long [OPTION ..]]" >&2; exit 2 ;;
esac

run() {
    cargo run --quiet --release --locked --manifest-path compare/Cargo.toml -- "$@"
}

cargo build --release --locked --manifest-path compare/Cargo.toml
if [ "$long" = yes ]; then
    run all --markdown "$@"
else
    cargo test --quiet --release --locked --manifest-path compare/Cargo.toml
    run all --rounds 1 --seconds 0.1 --entries 50000 --cache-size 32MiB --instances 50
    echo "compare: ok"
fi

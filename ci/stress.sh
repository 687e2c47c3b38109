#!/usr/bin/env bash
# Everything at once on one cache: pins, erases, growth and shrinking, walks, drops of the cache with handles out
# (crates/hyperclock/tests/stress.rs), as it is, under ThreadSanitizer and under AddressSanitizer.
#
#   ci/stress.sh           a minute
#   ci/stress.sh --long    ten minutes
#
# The sanitizers need a nightly toolchain; see ci/safety.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=15
case "${1:-}" in
    "") ;;
    --long) seconds=195 ;;
    *) echo "usage: ci/stress.sh [--long]" >&2; exit 2 ;;
esac

export HYPERCLOCK_STRESS_SECONDS=$seconds
echo "== as it is, $seconds s"
cargo test --release -p hyperclock --test stress -- --nocapture

for kind in thread address; do
    echo "== $kind sanitizer, $seconds s"
    RUSTFLAGS="-Zsanitizer=$kind -Cunsafe-allow-abi-mismatch=sanitizer" CARGO_TARGET_DIR=target/$kind \
        TSAN_OPTIONS="halt_on_error=1 suppressions=$PWD/ci/tsan.supp" LSAN_OPTIONS="suppressions=$PWD/ci/lsan.supp" \
        cargo +nightly test --release --target x86_64-unknown-linux-gnu -p hyperclock --test stress -- --nocapture
done
echo "stress: ok"

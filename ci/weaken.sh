#!/usr/bin/env bash
# Shows that every ordering in the clock table is needed: runs the models once with each non-relaxed access made relaxed,
# and expects a failure each time. Prints one line per access, and fails if an ordering can be weakened unnoticed that is
# not listed, with its reason, in ci/weaken.allow.
#
#   ci/weaken.sh            all accesses (half an hour)
#   ci/weaken.sh state.rs   those of one file
set -euo pipefail
cd "$(dirname "$0")/.."

only=${1:-}
target=${CARGO_TARGET_DIR:-target}/loom
methods='load_acquire|store_release|swap_release|swap_acquire|add_acquire|add_release|add_acq_rel|sub_release|or_acquire|or_acq_rel|and_release|and_acq_rel|cas_acquire|cas_release|cas_acq_rel|overwrite_release|set_once'

RUSTFLAGS="--cfg loom -Coverflow-checks=on" CARGO_TARGET_DIR=$target cargo test --release -q -p hyperclock --lib --no-run
binary=$(ls -t "$target"/release/deps/hyperclock-* | grep -v "\.d$" | head -n 1)

run() { # site
  RUST_BACKTRACE=0 HYPERCLOCK_WEAKEN=$1 timeout 120 "$binary" -q loom_tests >/dev/null 2>&1
}

run none || { echo "the models fail without any weakening"; exit 1; }

unnoticed=0 total=0
while IFS=: read -r file line text; do
  total=$((total + 1))
  name=$(basename "$file"):$line
  code=$(sed -E 's/^ +//' <<<"$text")
  if ! run "$file:$line"; then
    echo "needed     $name  $code"
  elif grep -qF "$(basename "$file")  $code" ci/weaken.allow; then
    echo "allowed    $name  $code"
  else
    echo "UNNOTICED  $name  $code"
    unnoticed=$((unnoticed + 1))
  fi
done < <(grep -nE "\.($methods)\(" crates/hyperclock/src/primary/clock/{state,slot,arena,pool,bucket,table,reshape,sweep,shared,closing,pin,mod}.rs | grep -vE '^[^:]+:[0-9]+: *//' | grep -F "$only")

echo "$total accesses, $unnoticed weakened unnoticed"
[ "$unnoticed" -eq 0 ]

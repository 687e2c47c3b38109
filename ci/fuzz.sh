#!/usr/bin/env bash
# Fuzzes the parsers of hyperclock-sst with cargo-fuzz.
#
#   ci/fuzz.sh [TARGET ..]                5 s a target, all targets by default
#   ci/fuzz.sh --long [TARGET ..]         5 min a target
#   ci/fuzz.sh --seconds N [TARGET ..]
#
# Corpora start from the seeds that the unit tests run the targets on (fixtures, and blocks made by the writer). Needs a nightly toolchain and cargo-fuzz
# (`cargo install cargo-fuzz`). A crash is left under fuzz/artifacts/TARGET, with the command that repeats it on the screen.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=5
case "${1:-}" in
  --long) seconds=300; shift ;;
  --seconds) seconds=$2; shift 2 ;;
esac
if ! cargo fuzz --version >/dev/null 2>&1; then
  echo "fuzz.sh: install cargo-fuzz first: cargo install cargo-fuzz" >&2
  exit 3
fi

targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(basename -s .rs -a fuzz/fuzz_targets/*.rs)
HYPERCLOCK_FUZZ_CORPUS="$PWD/fuzz/corpus" cargo test --quiet -p hyperclock-sst --lib -- fuzzing >/dev/null
cargo +nightly fuzz build
for target in "${targets[@]}"; do
  echo "fuzz: $target for $seconds s"
  log=$(mktemp)
  # Small inputs, because every format here fits in a few kilobytes; 2 s for one input is a hang.
  if ! cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -max_len=8192 -timeout=2 -rss_limit_mb=1024 \
    -print_final_stats=1 >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    rm -f "$log"
    exit 1
  fi
  grep -E 'number_of_executed_units|new_units_added' "$log"
  rm -f "$log"
done

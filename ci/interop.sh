#!/usr/bin/env bash
# Lets RocksDB's own tools judge what this repository writes: databases filled here must verify, scan to the same rows,
# answer every lookup through their Bloom filter, and stay a database when RocksDB writes to a copy.
#
#   ci/interop.sh            a few small databases, one per codec, and single tables of every kind (about 30 s)
#   ci/interop.sh --long     also 1,000,000 rows per codec, odd key and value sizes, many files
#
# Needs ldb, sst_dump and db_bench: Debian's rocksdb-tools, installed if missing and this runs as root.
set -euo pipefail
cd "$(dirname "$0")/.."

long=false
[ "${1:-}" = --long ] && long=true
if ! command -v ldb >/dev/null || ! command -v sst_dump >/dev/null || ! command -v db_bench >/dev/null; then
  apt-get update -qq && apt-get install -y -qq rocksdb-tools >/dev/null
fi
cargo build --release --quiet -p hyperclock-sst --example fill --example tables
cargo build --release --quiet -p hyperclock-cli
target=${CARGO_TARGET_DIR:-target}/release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "interop: $1" >&2
  exit 1
}

# check NAME ROWS COMPRESSION KEY_SIZE VALUE_SIZE [TARGET_FILE_SIZE]
#
# Fills through the example, or without a target file size, which the command line does not offer, through that.
check() {
  local name=$1 rows=$2 db="$work/$1" out
  if [ $# -ge 6 ]; then
    "$target/examples/fill" "$db" "${@:2}" >/dev/null
  else
    "$target/hyperclock" db fill --db "$db" --num "$rows" --compression "$3" --key-size "$4" --value-size "$5" >/dev/null 2>&1
  fi

  # sst_dump reports damage in its text, not in its exit status.
  out=$(sst_dump --command=verify --file="$db" 2>&1)
  [ "$(grep -c 'The file is ok' <<<"$out")" = "$(ls "$db"/*.sst | wc -l)" ] || fail "$name: sst_dump verify: $out"
  out=$(sst_dump --command=check --file="$db" 2>&1)
  ! grep -qiE 'corrupt|error|fail' <<<"$out" || fail "$name: sst_dump check: $out"
  ldb --db="$db" checkconsistency | grep -qx OK || fail "$name: ldb checkconsistency"

  # Two programs, one answer. ldb says how many rows it printed through the number of its lines.
  ldb --db="$db" scan --hex >"$work/theirs" 2>/dev/null
  "$target/hyperclock" db scan --db "$db" --hex >"$work/ours"
  [ "$(wc -l <"$work/theirs")" = "$rows" ] || fail "$name: ldb scan found $(wc -l <"$work/theirs") of $rows rows"
  cmp "$work/theirs" "$work/ours" || fail "$name: scans differ"
  local line key value
  for line in 1 $((rows / 2 + 1)) "$rows"; do
    IFS=' :' read -r key value < <(sed -n "${line}p" "$work/theirs")
    [ "$(ldb --db="$db" --bloom_bits=10 get --hex "$key")" = "$value" ] || fail "$name: ldb get $key"
  done

  # db_bench draws keys of the same form, eight bytes or more of them; a filter with a wrong bit would lose some.
  if [ "$4" -ge 8 ]; then
    out=$(db_bench --benchmarks=readrandom --use_existing_db=1 --readonly=1 --db="$db" --num="$rows" --key_size="$4" \
      --reads=20000 --bloom_bits=10 2>&1)
    grep -q '(20000 of 20000 found)' <<<"$out" || fail "$name: db_bench: $(grep readrandom <<<"$out")"
  fi

  # RocksDB takes a copy over as its own.
  cp -r "$db" "$db-copy"
  ldb --db="$db-copy" put zzzz written-by-ldb >/dev/null || fail "$name: ldb put"
  ldb --db="$db-copy" compact >/dev/null || fail "$name: ldb compact"
  [ "$(ldb --db="$db-copy" scan --hex 2>/dev/null | wc -l)" = $((rows + 1)) ] || fail "$name: rows lost after ldb compact"
  rm -rf "$db" "$db-copy"
  echo "interop: $name: $rows rows"
}

# Single tables: every codec with every checksum; versions, tombstones, values of many sizes.
mkdir "$work/tables"
"$target/examples/tables" "$work/tables"
for table in "$work"/tables/*.sst; do
  name=$(basename "$table" .sst)
  sst_dump --command=verify --file="$table" 2>&1 | grep -q 'The file is ok' || fail "table $name: sst_dump verify"
  sst_dump --command=scan --output_hex --file="$table" 2>/dev/null | grep "^'" >"$work/theirs"
  cmp "$work/theirs" "${table%.sst}.txt" || fail "table $name: sst_dump scan differs"
done
echo "interop: $(ls "$work"/tables/*.sst | wc -l) single tables"

for compression in none snappy lz4 zstd zlib; do
  check "$compression" 20000 "$compression" 16 100 400000
done
check command_line 30000 snappy 16 100
check one_row 1 snappy 16 100 400000
check short_keys 300 snappy 2 1000 20000
if $long; then
  for compression in none snappy lz4 zstd zlib; do
    check "long_$compression" 1000000 "$compression" 16 100 16777216
  done
  check empty_values 100000 lz4 8 0 100000
  check large_values 2000 zstd 100 70000 1000000
  check large_values_zlib 2000 zlib 100 70000 1000000
fi

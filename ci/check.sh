#!/usr/bin/env bash
# Format, lints, documentation, and links between documents. No test runs here.
#
#   ci/check.sh          what every change must pass
#   ci/check.sh --long   the same, and the documentation of private items
set -euo pipefail
cd "$(dirname "$0")/.."

long=no
case "${1:-}" in
    "") ;;
    --long) long=yes ;;
    *) echo "usage: ci/check.sh [--long]" >&2; exit 2 ;;
esac

echo "== format"
cargo fmt --all --check
cargo fmt --manifest-path fuzz/Cargo.toml --check
cargo fmt --manifest-path compare/Cargo.toml --check

echo "== lints"
cargo clippy --workspace --all-targets --locked -- -D warnings
# The reader without its bundled C library is a supported build.
cargo clippy -p hyperclock-sst --no-default-features --locked -- -D warnings

echo "== documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
if [ "$long" = yes ]; then
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --document-private-items
fi

echo "== links between documents"
# Every relative link of a Markdown file must lead to a file of the repository.
broken=0
while IFS= read -r page; do
    folder=$(dirname "$page")
    while IFS= read -r target; do
        [ -n "$target" ] || continue
        case "$target" in
            http://* | https://* | mailto:* | '#'*) continue ;;
        esac
        path=${target%%#*}
        if [ ! -e "$folder/$path" ]; then
            echo "$page: link to $target leads nowhere" >&2
            broken=1
        fi
    done < <(grep -oE '\]\([^) ]+\)' "$page" | sed -E 's/^\]\(//; s/\)$//')
done < <(git ls-files '*.md')
[ "$broken" = 0 ]

echo "== promises of the documents"
# The readme's test command is the one that ci/test.sh runs, and the case list is whole.
grep -qxF 'cargo test --workspace' README.md
cases=$(grep -cE '^\| BR-[0-9]{3} ' docs/cases.md)
if [ "$cases" != 117 ]; then
    echo "docs/cases.md lists $cases cases instead of 117" >&2
    exit 1
fi
# A test named in the case list exists.
while IFS= read -r name; do
    if ! git grep -qE "fn $name\b" -- '*.rs'; then
        echo "docs/cases.md names the test $name, which does not exist" >&2
        exit 1
    fi
done < <(grep -oE '\bbr_[0-9]{3}[a-z0-9_]*' docs/cases.md | sort -u)
# Unsafe code stays in the cache.
for root in crates/hyperclock-sst/src/lib.rs crates/hyperclock-cli/src/main.rs; do
    grep -qF '#![forbid(unsafe_code)]' "$root" || { echo "$root does not forbid unsafe code" >&2; exit 1; }
done
echo "check: ok"

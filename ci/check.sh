#!/usr/bin/env bash
# Format, lints, documentation, and links between documents. No test runs here.
set -euo pipefail
cd "$(dirname "$0")/.."

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
# Comments on private items link to each other too.
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --document-private-items

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
# What its opening says of them is what the last column says, by how it begins.
count() { grep -E '^\| BR-[0-9]{3} ' docs/cases.md | sed -E 's/ *\|$//; s/.*\| //' | grep -cE "$1"; }
sums="$(count '^`br_') have a test, $(count '^cannot') cannot arise, $(count '^with ') wait"
if ! grep -qF "$sums" docs/cases.md; then
    echo "docs/cases.md does not say: $sums" >&2
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
for root in crates/hyperclock-{sst,bench}/src/lib.rs crates/hyperclock-cli/src/main.rs; do
    grep -qF '#![forbid(unsafe_code)]' "$root" || { echo "$root does not forbid unsafe code" >&2; exit 1; }
done
echo "check: ok"

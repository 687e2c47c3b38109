#!/usr/bin/env bash
# Runs the tests exactly as the readme tells a reader to.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --workspace

#!/usr/bin/env bash
# What the compiler cannot see: memory orderings, data races, invalid accesses.
#
#   ci/safety.sh [--long] [models] [tsan] [asan]
#
# Without a name, all three run.
#
#   models  loom and shuttle, over the tests of crates/hyperclock under cfg(loom) and cfg(shuttle)
#   tsan    ThreadSanitizer over tests/stress.rs, and over tests/planted_race.rs, whose race must be seen
#   asan    AddressSanitizer over tests/stress.rs and the reader's tests
#
# The sanitizers need a nightly toolchain (rustup toolchain install nightly); the models need only the stable one.
# The short form is what every change must pass. The long form explores more schedules and runs for about half an hour.
set -euo pipefail
cd "$(dirname "$0")/.."

long=no
steps=()
for argument in "$@"; do
    case "$argument" in
        --long) long=yes ;;
        models | tsan | asan) steps+=("$argument") ;;
        *) echo "usage: ci/safety.sh [--long] [models] [tsan] [asan]" >&2; exit 2 ;;
    esac
done
[ ${#steps[@]} -gt 0 ] || steps=(models tsan asan)

target=x86_64-unknown-linux-gnu
logs=target/safety
mkdir -p "$logs"

# run LOG COMMAND ..: runs the command, shows its output, and keeps it in LOG.
run() {
    local log=$1
    shift
    "$@" 2>&1 | tee "$log"
}

# A filter that matches nothing is green too: at least one test must have run and passed.
some_tests_ran() {
    local log=$1 passed
    passed=$(sed -nE 's/^test result: ok\. ([0-9]+) passed.*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
    if [ "$passed" = 0 ]; then
        echo "$log: no test ran" >&2
        return 1
    fi
}

# ---- models ---------------------------------------------------------------------------------------------------------
# loom explores every interleaving of 2 to 3 threads with a bounded number of preemptions and the C11 memory model;
# shuttle draws long random schedules and sees everything as sequentially consistent. Their tests live beside the code
# they check, in modules named `loom_tests` and `shuttle_tests`.
models() {
    local preemptions=2 iterations=2000
    if [ "$long" = yes ]; then
        preemptions=3
        iterations=200000
    fi
    echo "== loom, at most $preemptions preemptions"
    LOOM_MAX_PREEMPTIONS=$preemptions RUSTFLAGS="--cfg loom -Coverflow-checks=on" CARGO_TARGET_DIR=target/loom \
        run "$logs/loom.log" cargo test -p hyperclock --lib --release loom
    some_tests_ran "$logs/loom.log"
    echo "== shuttle, $iterations schedules a test"
    HYPERCLOCK_SHUTTLE_ITERATIONS=$iterations RUSTFLAGS="--cfg shuttle -Coverflow-checks=on" CARGO_TARGET_DIR=target/shuttle \
        run "$logs/shuttle.log" cargo test -p hyperclock --lib --release shuttle
    some_tests_ran "$logs/shuttle.log"
}

# ---- sanitizers -----------------------------------------------------------------------------------------------------
# The standard library is used as it is shipped, not instrumented, hence the flag that allows the mix. Its own
# synchronisation can then look like a race; ci/tsan.supp lists what was found to be such, with the reason, and
# ci/lsan.supp what a test leaks on purpose.
sanitized() {
    local kind=$1
    shift
    RUSTFLAGS="-Zsanitizer=$kind -Cunsafe-allow-abi-mismatch=sanitizer" CARGO_TARGET_DIR="target/$kind" \
        cargo +nightly test --target "$target" "$@"
}

stress_seconds() {
    if [ "$long" = yes ]; then echo 300; else echo 20; fi
}

tsan() {
    echo "== ThreadSanitizer: stress test"
    HYPERCLOCK_STRESS_SECONDS=$(stress_seconds) \
        TSAN_OPTIONS="halt_on_error=1 suppressions=$PWD/ci/tsan.supp" \
        run "$logs/tsan.log" sanitized thread -p hyperclock --test stress
    some_tests_ran "$logs/tsan.log"

    # A sanitizer that sees nothing is worth nothing: tests/planted_race.rs writes to one word from two threads when
    # this variable is set, and is an empty test otherwise.
    echo "== ThreadSanitizer: planted race"
    if HYPERCLOCK_PLANT_RACE=1 TSAN_OPTIONS="halt_on_error=1" \
        run "$logs/planted.log" sanitized thread -p hyperclock --test planted_race; then
        echo "the planted race went unseen: ThreadSanitizer is not at work" >&2
        return 1
    fi
    if ! grep -q 'WARNING: ThreadSanitizer: data race' "$logs/planted.log"; then
        echo "the planted race failed for another reason, see $logs/planted.log" >&2
        return 1
    fi
    echo "planted race seen"
}

asan() {
    echo "== AddressSanitizer: stress test and reader"
    export LSAN_OPTIONS="suppressions=$PWD/ci/lsan.supp"
    HYPERCLOCK_STRESS_SECONDS=$(stress_seconds) \
        run "$logs/asan.log" sanitized address -p hyperclock --test stress
    some_tests_ran "$logs/asan.log"
    run "$logs/asan-reader.log" sanitized address -p hyperclock-sst --lib
    some_tests_ran "$logs/asan-reader.log"
}

for step in "${steps[@]}"; do
    "$step"
done
echo "safety: ok"

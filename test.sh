#!/usr/bin/env bash
# Every check of the project, with one table and one line of totals at the end.
#
#     bash test.sh            what CI runs; under 20 minutes on two cores
#     bash test.sh --full     also the long ones (GREENROOM_SOAK_SECONDS, 300 unless set)
#
# On Debian as root it installs what is missing (Chromium, Node.js, Python's venv, a C compiler); elsewhere it says what
# is missing and the steps that need it fail. Rust comes from rustup. Logs: target/test-logs/.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
export CARGO_TARGET_DIR=$target CARGO_TERM_COLOR=never
logs=$target/test-logs
mkdir -p "$logs"

full=
case "${1:-}" in
    "") ;;
    --full) full=yes ;;
    *) echo "usage: bash test.sh [--full]" >&2; exit 2 ;;
esac

passed=0 failed=0 skipped=0 table=()

trap 'exit 130' INT TERM

# Sets p, f and s to the tests that a log speaks of, in the words of each runner.
count() {
    local log=$1
    p=0 f=0 s=0
    # cargo test: one line for each binary
    while read -r a b c; do p=$((p + a)) f=$((f + b)) s=$((s + c)); done < <(
        sed -nE 's/^test result: .* ([0-9]+) passed; ([0-9]+) failed; ([0-9]+) ignored;.*/\1 \2 \3/p' "$log")
    # cargo nextest
    while read -r line; do
        p=$((p + $(number "$line" passed))) s=$((s + $(number "$line" skipped)))
        f=$((f + $(number "$line" failed) + $(number "$line" 'timed out')))
    done < <(grep -E '^ *Summary \[' "$log")
    # node --test
    p=$((p + $(sed -nE 's/^(# |ℹ )pass ([0-9]+)$/\2/p' "$log" | tail -1 || true) + 0))
    f=$((f + $(sed -nE 's/^(# |ℹ )(fail|cancelled) ([0-9]+)$/\3/p' "$log" | paste -sd+ | sed 's/^$/0/') + 0))
    # the scripts of the conformance and peer tests
    while read -r a b; do p=$((p + a)) f=$((f + b)); done < <(
        sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$log")
}

number() { # the number that stands before a word, or 0
    local found
    found=$(sed -nE "s/.*[^0-9]([0-9]+) $2.*/\1/p" <<<"$1")
    echo "${found:-0}"
}

# step NAME SECONDS KIND COMMAND...: KIND tests or conformance = the log must tell of at least one test; check = the
# exit code counts.
step() {
    local name=$1 seconds=$2 kind=$3 log began code p f s verdict
    shift 3
    log=$logs/${name// /-}.log
    began=$SECONDS
    echo "--- $name"
    timeout --kill-after=10 "$seconds" "$@" >"$log" 2>&1 </dev/null
    code=$?
    p=0 f=0 s=0
    if [ "$kind" != check ]; then count "$log"; fi
    verdict=ok
    if [ "$kind" = conformance ] && grep -q '^Autobahn not run' "$log"; then
        # Without Python 2.7: said plainly, and a failure under CI by the exit code.
        grep '^Autobahn not run' "$log"
        verdict=ABSENT kind=absent s=1
    fi
    if [ "$code" -eq 124 ]; then echo "$name: stopped after $seconds s" >>"$log"; fi
    if [ "$code" -ne 0 ] || [ "$f" -gt 0 ] || { [[ $kind = tests || $kind = conformance ]] && [ $((p + f)) -eq 0 ]; }; then
        verdict=FAILED
        s=0
        # A step that broke without a failed test is one failure of its own.
        if [ "$f" -eq 0 ]; then f=1; fi
        tail -n 200 "$log"
    elif [ "$kind" = check ]; then
        p=1
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    table+=("$(printf '%-26s %-7s %6d %6d %6d %5ds' "$name" "$verdict" "$p" "$f" "$s" $((SECONDS - began)))")
}

# A step that could not run: a failure, unless it may be skipped here.
absent() {
    echo "--- $1: not run: $2"
    failed=$((failed + 1))
    table+=("$(printf '%-26s %-7s %s' "$1" FAILED "$2")")
}

have() { command -v "$1" >/dev/null 2>&1; }

install_missing() {
    local wanted=()
    have cc || wanted+=(build-essential)
    have node && have npm || wanted+=(nodejs npm)
    python3 -c 'import ensurepip, venv' 2>/dev/null || wanted+=(python3 python3-venv)
    have chromium || wanted+=(chromium)
    have curl || wanted+=(curl)
    if [ ${#wanted[@]} -eq 0 ]; then return; fi
    if [ "$(id -u)" -eq 0 ] && have apt-get; then
        echo "installing ${wanted[*]}"
        export DEBIAN_FRONTEND=noninteractive
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${wanted[@]}"; } >"$logs/install.log" 2>&1 ||
            tail -n 20 "$logs/install.log"
    else
        echo "missing, and not root on Debian: please install ${wanted[*]}"
    fi
}

node_tests() { # the folder's packages, then its tests
    cd "$root/tests/$1" && { [ -d node_modules ] || npm ci --no-audit --no-fund --silent; } && node --test --test-reporter=spec
}

start_stop() { # an example ends with 0 on SIGTERM
    PORT=0 "$target/release/examples/$1" &
    local pid=$!
    sleep 1
    kill -TERM "$pid"
    wait "$pid"
}

export -f node_tests start_stop
export root target

install_missing
if ! have cargo; then
    absent toolchain "no cargo: install Rust with rustup"
else
    step format 120 check cargo fmt --all --check
    step clippy 900 check cargo clippy --workspace --all-targets --locked -- -D warnings
    if cargo nextest --version >/dev/null 2>&1; then
        step "rust tests" 900 tests cargo nextest run --workspace --locked --no-fail-fast
        step "doc tests" 600 tests cargo test --workspace --doc --locked --no-fail-fast
    else
        step "rust tests" 1200 tests cargo test --workspace --locked --no-fail-fast
    fi
    step documentation 600 check env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
    step "release examples" 900 check cargo build --release --examples --locked

    step peers 600 tests bash tests/peers/run.sh "$target/release/examples/bench"
    step autobahn 900 conformance bash tests/conformance/run.sh "$target/release/examples/bench"
    if have chromium; then
        CHAT=$target/release/examples/chat CHROMIUM=$(command -v chromium) step browser 300 tests bash -c 'node_tests browser'
    else
        absent browser "no chromium"
    fi
    for example in echo chat bench; do step "stop $example" 30 check bash -c "start_stop $example"; done

    if [ -n "$full" ]; then
        export GREENROOM_SOAK_SECONDS=${GREENROOM_SOAK_SECONDS:-300}
        step "soak pinned" $((GREENROOM_SOAK_SECONDS * 4 + 900)) tests \
            cargo test --release --locked --lib busy
    fi
fi

echo
printf '%-26s %-7s %6s %6s %6s %6s\n' step result passed failed skipped time
printf '%s\n' "${table[@]}"
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]

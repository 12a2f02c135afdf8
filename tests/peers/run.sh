#!/usr/bin/env bash
# Independent WebSocket clients against a server's /ws, /ws-callback and /fan: Python's `websockets` and npm's `ws`.
#
#   tests/peers/run.sh SERVER_BINARY        (for example target/release/examples/bench)
#
# Each client starts servers of its own with PORT=0, which must print their address on their start line, take messages
# of 16 MiB and no longer ones. The last line is `N passed, N failed`, and any failure makes the exit status 1.
#
# Needs Python 3.11 with venv, Node.js 18 with npm. The packages, in exact versions, are installed under the target
# directory (CARGO_TARGET_DIR) once.
set -euo pipefail

server=$(realpath "${1:?usage: run.sh SERVER_BINARY}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=${CARGO_TARGET_DIR:-$here/../../target}/peers
mkdir -p "$work"
work=$(cd "$work" && pwd)

passed=0 failed=0

# fail WHAT [LOG]: counts one failure and shows the end of a log.
fail() {
  echo "$1"
  if [ -n "${2:-}" ]; then tail -n 30 "$2"; fi
  failed=$((failed + 1))
}

# Runs COMMAND... unless STAMP exists with the checksum of FILES, which are the arguments before `--`.
once_per_content() {
  local stamp=$1 files=() sum
  shift
  while [ "$1" != -- ]; do files+=("$1"); shift; done
  shift
  sum=$(cat "${files[@]}" | sha256sum)
  [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ] && return
  rm -f "$stamp"
  "$@" >"$work/install.log" 2>&1 </dev/null || return
  echo "$sum" >"$stamp"
}

install_websockets() {
  rm -rf "$work/venv" &&
    python3 -m venv "$work/venv" &&
    "$work/venv/bin/pip" install --disable-pip-version-check -q --no-deps -r "$here/requirements.txt"
}

install_ws() {
  # Imports are looked up from where the test file lies, so it is run from a copy beside its packages.
  cp "$here/package.json" "$here/package-lock.json" "$work/npm/" &&
    npm ci --prefix "$work/npm" --silent --no-audit --no-fund --ignore-scripts
}

echo "Python websockets"
if once_per_content "$work/venv.stamp" "$here/requirements.txt" -- install_websockets; then
  log=$work/websockets.log
  timeout -k 5 300 "$work/venv/bin/python" "$here/test_websockets.py" "$server" >"$log" 2>&1 </dev/null || true
  # Its last line is the count; without one it crashed or hung.
  if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    if [ "${BASH_REMATCH[2]}" != 0 ]; then cat "$log"; fi
  else
    fail "websockets: the run was cut short" "$log"
  fi
else
  fail "websockets could not be installed" "$work/install.log"
fi

echo "npm ws"
mkdir -p "$work/npm"
if once_per_content "$work/npm.stamp" "$here/package.json" "$here/package-lock.json" -- install_ws; then
  log=$work/ws.log
  cp "$here/ws.test.js" "$work/npm/"
  SERVER_BINARY=$server timeout -k 5 300 node --test --test-reporter=tap "$work/npm/ws.test.js" >"$log" 2>&1 </dev/null || true
  ok=$(sed -n 's/^# pass //p' "$log") bad=$(sed -nE 's/^# (fail|cancelled) //p' "$log" | paste -sd+)
  if [ -n "$ok" ] && [ -n "$bad" ]; then
    passed=$((passed + ok)) failed=$((failed + bad))
    if [ $((bad)) != 0 ]; then sed -n '/^not ok/,/^  \.\.\.$/p' "$log"; fi
  else
    fail "ws: the run was cut short" "$log"
  fi
else
  fail "ws could not be installed" "$work/install.log"
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]

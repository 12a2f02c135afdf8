#!/usr/bin/env bash
# Autobahn's fuzzingclient against a server's /ws and /ws-callback, both at once.
#
#   tests/conformance/run.sh SERVER_BINARY        (for example target/release/examples/bench)
#
# The server is started with PORT=0 and must print its address on its start line, echo on both routes, and take
# messages of 16 MiB. Sections 12 and 13 are left out: they test permessage-deflate, which is never negotiated.
# check.py judges the reports; the last line is `N passed, N failed`, and any failure makes the exit status 1.
#
# The test suite needs Python 2.7. Where there is none, this says `Autobahn not run`; under CI that is a failure.
# Environment: CARGO_TARGET_DIR (where the virtualenv and the reports go), PYTHON2 (an interpreter to use),
# AUTOBAHN_SECONDS (upper bound of the whole run, default 900).
set -euo pipefail

server=${1:?usage: run.sh SERVER_BINARY}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=${CARGO_TARGET_DIR:-$here/../../target}/conformance
mkdir -p "$work"
work=$(cd "$work" && pwd)
routes=(ws ws-callback)

find_python2() {
  local candidate
  for candidate in "${PYTHON2:-}" "$(pyenv prefix 2.7.18 2>/dev/null || true)/bin/python2.7" python2.7 python2; do
    candidate=$(command -v "$candidate" 2>/dev/null) || continue
    "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (2, 7))' 2>/dev/null || continue
    echo "$candidate"
    return
  done
}

# Builds the virtualenv unless the one that is there was built from the same interpreter and the same requirements.
install_autobahn() {
  local python2=$1 stamp
  stamp="$python2 $(sha256sum <"$here/requirements.txt")"
  [ "$(cat "$work/venv/stamp" 2>/dev/null)" = "$stamp" ] && return
  echo "Installing Autobahn's test suite (Python 2.7), once"
  rm -rf "$work/venv" "$work/bootstrap"
  export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_WARN_SCRIPT_LOCATION=1 PYTHONWARNINGS=ignore
  {
    # This virtualenv is a single module that brings pip and setuptools with it and touches nothing outside $work.
    "$python2" -m pip install --no-deps --target "$work/bootstrap" virtualenv==16.7.12 &&
      "$python2" "$work/bootstrap/virtualenv.py" --no-download "$work/venv" &&
      "$work/venv/bin/pip" install --no-deps -r "$here/requirements.txt" &&
      "$work/venv/bin/wstest" --autobahnversion
  } >"$work/install.log" 2>&1 </dev/null || {
    tail -n 30 "$work/install.log"
    echo "Autobahn could not be installed"
    echo "0 passed, 1 failed"
    exit 1
  }
  echo "$stamp" >"$work/venv/stamp"
}

python2=$(find_python2)
if [ -z "$python2" ]; then
  echo "Autobahn not run: it needs Python 2.7 (pyenv install 2.7.18)"
  if [ "${CI:-}" = true ]; then exit 1; fi
  exit 0
fi
install_autobahn "$python2"

server_pid='' client_pids=()
cleanup() {
  local pid
  for pid in "${client_pids[@]}" $server_pid; do kill -KILL "$pid" 2>/dev/null || true; done
}
trap cleanup EXIT

# The log of an earlier run would name an earlier address until the new server has opened it.
rm -f "$work/server.log"
touch "$work/server.log"
PORT=0 "$server" >"$work/server.log" 2>&1 </dev/null &
server_pid=$!
address=''
for _ in {1..200}; do
  # `read` fails on a line that is not finished yet.
  while IFS= read -r line; do
    if [[ $line =~ 127\.0\.0\.1:[0-9]+ ]]; then
      address=${BASH_REMATCH[0]}
      break 2
    fi
  done <"$work/server.log"
  kill -0 "$server_pid" 2>/dev/null || break
  sleep 0.05
done
if [ -z "$address" ]; then
  cat "$work/server.log"
  echo "The server printed no address"
  echo "0 passed, 1 failed"
  exit 1
fi

started=$SECONDS
for route in "${routes[@]}"; do
  rm -rf "$work/reports/$route"
  mkdir -p "$work/reports/$route"
  cat >"$work/$route.json" <<SPEC
{
  "options": {"failByDrop": false},
  "outdir": "$work/reports/$route",
  "servers": [{"agent": "$route", "url": "ws://$address/$route"}],
  "cases": ["*"],
  "exclude-cases": ["12.*", "13.*"],
  "exclude-agent-cases": {}
}
SPEC
  # `exec`, so that the process id is that of `timeout`, which passes the signal on.
  (cd "$work" && exec timeout -k 5 "${AUTOBAHN_SECONDS:-900}" \
    "$work/venv/bin/wstest" -m fuzzingclient -s "$work/$route.json") >"$work/$route.log" 2>&1 </dev/null &
  client_pids+=($!)
done

status=0
for pid in "${client_pids[@]}"; do
  wait "$pid" || { status=1; echo "wstest ended with status $?"; }
done
client_pids=()

if ! kill -0 "$server_pid" 2>/dev/null; then
  echo "The server died during the run; the end of its output:"
  tail -n 20 "$work/server.log"
  status=1
fi
kill -TERM "$server_pid" 2>/dev/null || true
for _ in {1..200}; do
  kill -0 "$server_pid" 2>/dev/null || break
  sleep 0.1
done

echo "Autobahn: ${#routes[@]} routes in $((SECONDS - started)) s, reports in $work/reports"
python3 "$here/check.py" "$here/expected_close.json" "$work/reports" "${routes[@]}" || status=1
exit "$status"

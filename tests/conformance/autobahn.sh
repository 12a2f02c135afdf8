#!/usr/bin/env bash
# Runs Autobahn's fuzzingclient (all cases but sections 12 and 13) against WebSocket echo routes and checks the result.
#
#     tests/conformance/autobahn.sh ws://127.0.0.1:PORT/ws [ws://127.0.0.1:PORT/ws-callback ...]
#
# The suite needs Python 2.7: PYTHON27 names one, else pyenv's or the one on PATH is taken. Without it the script says
# "Autobahn not run" and exits 3, or 1 with CI=true. The virtualenv and the reports are kept in target/autobahn.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=${CARGO_TARGET_DIR:-$here/../../target}/autobahn
venv=$work/venv

python27() {
    if [ -n "${PYTHON27:-}" ]; then echo "$PYTHON27"; return; fi
    local prefix
    prefix=$(pyenv prefix 2.7.18 2>/dev/null) && [ -x "$prefix/bin/python2.7" ] && { echo "$prefix/bin/python2.7"; return; }
    command -v python2.7
}

not_run() {
    echo "Autobahn not run: $1"
    if [ "${CI:-}" = true ]; then exit 1; fi
    exit 3
}

mkdir -p "$work"
if [ ! -e "$venv/ready" ]; then
    python=$(python27) || not_run "no Python 2.7 (pyenv prefix 2.7.18, python2.7 or PYTHON27)"
    rm -rf "$venv" "$work/virtualenv"
    # The last virtualenv that runs on Python 2.7, beside the interpreter rather than in it.
    if ! { "$python" -m pip install --disable-pip-version-check -q --target "$work/virtualenv" virtualenv==20.15.1 &&
        PYTHONPATH=$work/virtualenv "$python" -m virtualenv -q "$venv" &&
        "$venv/bin/pip" install --disable-pip-version-check -q autobahntestsuite==25.10.1; } >"$work/install.log" 2>&1; then
        cat "$work/install.log"
        not_run "its installation failed"
    fi
    touch "$venv/ready"
fi

pids=() reports=()
for url in "$@"; do
    name=${url##*/}
    reports+=("$work/$name/index.json")
    rm -rf "${work:?}/$name"
    mkdir -p "$work/$name"
    cat >"$work/$name.json" <<JSON
{"options": {"failByDrop": false}, "outdir": "$work/$name", "cases": ["*"], "exclude-cases": ["12.*", "13.*"],
 "exclude-agent-cases": {}, "servers": [{"agent": "greenroom", "url": "$url", "options": {"version": 18}}]}
JSON
    timeout "${AUTOBAHN_SECONDS:-600}" "$venv/bin/wstest" -m fuzzingclient -s "$work/$name.json" >"$work/$name.log" 2>&1 &
    pids+=($!)
done
for pid in "${pids[@]}"; do
    wait "$pid" || echo "wstest ended with status $? (its logs: $work)"
done
exec python3 "$here/check.py" "${reports[@]}"

"""Judges the reports that Autobahn's fuzzingclient wrote: check.py EXPECTED_CLOSE REPORTS ROUTE...

A route passes when exactly 301 cases ran (all but sections 12 and 13), each behaved OK or INFORMATIONAL both in its
exchange and in its closing handshake, and each close code received is the one EXPECTED_CLOSE names. In that file
`null` means that no code was received; a case it doesn't name may end with any code.

Prints what failed and then `N passed, N failed`, in cases of all routes together; exits 1 if anything failed.
"""

import json
import pathlib
import sys

CASES = 301
ACCEPTED = {"OK", "INFORMATIONAL"}


def faults(case, result, expected_close):
    """What is wrong with one case's result, as a list of phrases."""
    found = []
    if result["behavior"] not in ACCEPTED:
        found.append(f"behaviour {result['behavior']}")
    if result["behaviorClose"] not in ACCEPTED:
        found.append(f"closing behaviour {result['behaviorClose']}")
    if case in expected_close and result["remoteCloseCode"] != expected_close[case]:
        found.append(f"close code {result['remoteCloseCode']}, expected {expected_close[case]}")
    return found


def check_route(route, reports, expected_close):
    """Prints the failed cases of one route; returns how many cases passed and failed."""
    index = reports / route / "index.json"
    try:
        results = json.loads(index.read_text())[route]
    except (OSError, ValueError, KeyError) as error:
        print(f"{route}: no report: {error!r}")
        return 0, CASES

    failed = 0
    for case, result in results.items():
        if found := faults(case, result, expected_close):
            failed += 1
            print(f"{route} {case}: {'; '.join(found)}")
    passed = len(results) - failed

    # Cases that are missing count as failed, and so do cases too many: either way another suite ran than the one meant.
    missing = sorted(expected_close.keys() - results.keys())
    if missing:
        print(f"{route}: did not run: {' '.join(missing)}")
    if len(results) != CASES:
        print(f"{route}: {len(results)} cases ran, expected {CASES}")
    return passed, failed + max(len(missing), abs(CASES - len(results)))


def main():
    expected_path, reports, *routes = sys.argv[1:]
    expected_close = json.loads(pathlib.Path(expected_path).read_text())
    counts = [check_route(route, pathlib.Path(reports), expected_close) for route in routes]
    passed = sum(count[0] for count in counts)
    failed = sum(count[1] for count in counts)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())

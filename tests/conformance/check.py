"""Judges Autobahn reports: every one of the 301 cases OK or INFORMATIONAL, and the close codes as expected.

    python3 check.py REPORT/index.json ...

expected_close.json names the close code of each case (null: none was received); a case that is absent may have any.
"""

import json
import pathlib
import sys

CASES = 301
GOOD = ("OK", "INFORMATIONAL")


def faults(report, expected):
    """Yields (case, what is wrong with it)."""
    for case, result in report.items():
        if result["behavior"] not in GOOD or result["behaviorClose"] not in GOOD:
            yield case, f"{result['behavior']}, close {result['behaviorClose']}"
        elif case in expected and expected[case] != result["remoteCloseCode"]:
            yield case, f"close code {result['remoteCloseCode']}, expected {expected[case]}"


def main(paths):
    expected = json.loads((pathlib.Path(__file__).parent / "expected_close.json").read_text())
    passed = failed = 0
    for path in map(pathlib.Path, paths):
        try:
            (report,) = json.loads(path.read_text()).values()
        except (OSError, ValueError) as error:
            print(f"{path.parent.name}: no report: {error}")
            failed += CASES
            continue
        wrong = list(faults(report, expected))
        missing = max(0, CASES - len(report))
        for case, what in wrong:
            print(f"{path.parent.name}: case {case}: {what}")
        if len(report) != CASES:
            print(f"{path.parent.name}: {len(report)} cases ran, expected {CASES}")
        passed += len(report) - len(wrong)
        failed += len(wrong) + missing + (len(report) > CASES)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not paths else 0


sys.exit(main(sys.argv[1:]))

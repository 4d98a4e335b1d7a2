"""The report of a gate as JUnit XML: a case of the suite is a test, and the gate is the last one.

A case that came out worse is a failed test only where the gate rejects: an update that is let in does not
turn a build red. What could not be measured is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from trainer.gate.plain import for_xml

if TYPE_CHECKING:
    from trainer.gate.decide import CaseChange
    from trainer.gate.report import GateReport
    from xpstore.evaluation import TrialFailure

CLASS = "xp.gate"
GATE = "xp"
"""The class of the decision: a case may be called `gate`, too."""


def junit(report: GateReport, changes: tuple[CaseChange, ...]) -> bytes:
    """Return the XML document. `changes` are all cases of the suite, also those that came out the same."""
    record = report.record
    tests = [_case(change, is_rejected=record.decision == "reject") for change in changes]
    scored = {change.case for change in changes}
    lost = {failure.case: failure for failure in reversed(report.unscored) if failure.case not in scored}
    tests += [_unscored(failure) for failure in reversed(lost.values())]
    tests.append(_gate(report))
    suite = ET.Element(
        "testsuite",
        {
            "name": for_xml(f"xp gate {record.suite}".strip()),
            "tests": str(len(tests)),
            "failures": str(sum(test.find("failure") is not None for test in tests)),
            "errors": str(sum(test.find("error") is not None for test in tests)),
            "time": f"{report.cost.seconds:.1f}",
        },
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("candidate", record.candidate),
        ("against", record.against),
        ("experiences", record.experiences),
        ("baseline", record.baseline),
        ("suite_digest", record.suite_digest),
        ("record", report.path),
        ("again", report.again),
    ):
        ET.SubElement(properties, "property", {"name": name, "value": for_xml(value)})
    suite.extend(tests)
    return _document(suite)


def junit_of_nothing(branch: str, main: str) -> bytes:
    """Return the XML document where a branch has nothing that could land."""
    suite = ET.Element(
        "testsuite", {"name": "xp gate", "tests": "1", "failures": "0", "errors": "0", "time": "0.0"}
    )
    test = ET.SubElement(suite, "testcase", {"classname": GATE, "name": "gate"})
    ET.SubElement(test, "system-out").text = for_xml(f"{main} has all of {branch}")
    return _document(suite)


def _document(suite: ET.Element) -> bytes:
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'.encode()


def _case(change: CaseChange, *, is_rejected: bool) -> ET.Element:
    test = ET.Element("testcase", {"classname": CLASS, "name": for_xml(change.name)})
    scores = f"passed {change.baseline} of {change.n} before, {change.candidate} of {change.n} now"
    if change.difference < 0 and is_rejected:
        ET.SubElement(test, "failure", {"message": scores})
    elif change.difference:
        ET.SubElement(test, "system-out").text = scores
    return test


def _unscored(failure: TrialFailure) -> ET.Element:
    """Return a case of which no pair of trials was scored."""
    test = ET.Element("testcase", {"classname": CLASS, "name": for_xml(failure.name)})
    ET.SubElement(test, "error", {"message": f"not scored: {for_xml(failure.error)}"})
    return test


def _gate(report: GateReport) -> ET.Element:
    record = report.record
    test = ET.Element("testcase", {"classname": GATE, "name": "gate"})
    reason = for_xml(record.reason)
    if record.decision == "reject":
        ET.SubElement(test, "failure", {"message": reason})
    elif record.decision == "inconclusive":
        ET.SubElement(test, "error", {"message": reason})
    else:
        ET.SubElement(test, "system-out").text = reason
    return test

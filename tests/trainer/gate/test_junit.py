from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from tests.trainer.gate.reports import NASTY, changes, report_of
from trainer.gate.junit import junit
from xpstore.evaluation import TrialFailure

ROWS = changes((1, 3), (3, 1), (2, 2))


def read(data: bytes) -> ET.Element:
    return ET.fromstring(data)[0]  # noqa: S314  # our own


@pytest.mark.parametrize(
    ("decision", "failures", "errors", "gate"),
    [("accept", 0, 0, "system-out"), ("reject", 2, 0, "failure"), ("inconclusive", 0, 1, "error")],
)
def test_a_build_is_red_where_the_gate_is(decision, failures, errors, gate):
    suite = read(junit(report_of(decision), ROWS))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == (
        "4",
        str(failures),
        str(errors),
    )
    tests = suite.findall("testcase")
    assert [test.get("name") for test in tests] == ["case 0", "case 1", "case 2", "gate"]
    assert tests[-1].find(gate) is not None
    assert (tests[1].find("failure") is not None) == (decision == "reject")
    assert len(tests[2]) == 0
    out = tests[0].find("system-out")
    assert out is not None
    assert out.text == "passed 1 of 4 before, 3 of 4 now"


def test_it_names_what_was_compared():
    properties = {p.get("name"): p.get("value") for p in read(junit(report_of(), ROWS)).iter("property")}
    assert properties["candidate"] == "a" * 40
    assert properties["experiences"] == "c" * 40
    assert properties["again"] == "xp gate train/1"


def test_hostile_names_and_reasons_are_text():
    data = junit(report_of("reject", text=NASTY), changes((3, 1), name=NASTY))
    suite = read(data)
    assert suite.find("testcase/failure") is not None
    assert "<U+001B>" in (suite.findall("testcase")[0].get("name") or "")
    assert b"<img" not in data
    assert b"\x00" not in data


def test_a_case_that_nobody_could_score_is_an_error_and_none_is_taken_for_the_gate():
    lost = tuple(
        TrialFailure(case=case, name=case, trial=n, seed=n, stage="execute", error=f"down {n}")
        for case in ("c1", "gone", "gate")
        for n in range(2)
    )
    report = report_of().model_copy(update={"unscored": lost})
    suite = read(junit(report, ROWS))
    assert (suite.get("tests"), suite.get("errors")) == ("6", "2")
    tests = [(test.get("classname"), test.get("name")) for test in suite.findall("testcase")[3:]]
    assert tests == [("xp.gate", "gone"), ("xp.gate", "gate"), ("xp", "gate")]
    error = suite.findall("testcase")[3].find("error")
    assert error is not None
    assert error.get("message") == "not scored: down 0"

"""Every fault of an endpoint, each on a rollout of its own: it is told what became of it, nothing is lost."""

from __future__ import annotations

import json
from itertools import cycle

import pytest

from tests.e2e.llm import Learner, make_template
from tests.llm_server import Fault
from tests.llm_world import DIGITS, LESSONS, edit, extract, merge, recording, recordings, teach, write
from trainer.asking import attempts

HEALED = ("fenced", "prose", "thinking")
"""An answer in wrappings is an answer."""
TOLD = {
    "status": "answered 500",
    "overloaded": "answered 503",
    "limited": "answered 429",
    "upstream": "the provider is down",
    "reset": "cannot be reached",
    "truncated": "cannot be reached",
    "slow": "did not answer within",
    "drip": "did not answer within",
    "malformed": "is not JSON",
    "nothing": "sent nothing",
    "html": "a web page",
    "no_choices": "without choices",
    "empty": "answered nothing, twice",
    "length": "was cut, twice",
    "refusal": "the model refused",
    "filtered": "the model refused",
    "not_json": "not of the form",
    "wrong_schema": "not of the form",
}
"""Fault → what is said of the rollout that meets it, also after repair."""
STATUS = {"status": 500, "overloaded": 503, "limited": 429}
FEW = ("refund", "exchange")
CASES = [*TOLD, *HEALED, "well"]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A store whose endpoint is given up soon; its recordings are of one case for each fault."""
    root = tmp_path_factory.mktemp("faults")
    topics = zip(CASES, cycle(LESSONS), strict=False)
    lines = [recording(topic, n, case=f"case-{name}") for n, (name, topic) in enumerate(topics)]
    write(root / "rollouts.jsonl", lines)
    write(root / "few.jsonl", recordings(4, FEW))
    return make_template(root / "template", retries=0, timeout=5.0)


@pytest.fixture
def store(template, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(template.parent)
    monkeypatch.setattr(attempts, "QUOTA_PAUSE", 0.05)  # a minute, for one who refuses again and again
    return Learner(template, capsys, monkeypatch).copy(tmp_path / "s")


def fault_of(name, answer):
    if name == "well":
        return answer
    return Fault("status", STATUS[name]) if name in STATUS else Fault(name, answer=answer)


def cases_of(report, key):
    return {row["case"].removeprefix("case-"): row for row in report[key]}


def letters():
    """What tells a recording's case where a question shows no more than its letter."""
    return {" ".join(DIGITS[int(digit)] for digit in str(n)): name for n, name in enumerate(CASES)}


@pytest.mark.parametrize(("stage", "handler"), [("extract", extract), ("edit", edit)])
def test_every_rollout_ends_as_learned_or_failed_and_the_next_run_learns_the_rest(
    store, llm_server, stage, handler
):
    teach(llm_server)
    named = letters()

    def broken(seen):
        letter = seen.content.lower().partition("letter ")[2].partition("\n")[0]
        name = named[letter.partition(",")[0].rstrip(".")]
        return fault_of(name, handler(seen))

    llm_server.on(stage, broken)
    report = store.asks(llm_server).train("rollouts.jsonl")
    failed = cases_of(report, "failures")
    assert failed.keys() == TOLD.keys()
    for name, why in TOLD.items():
        assert why in failed[name]["error"], name
        assert failed[name]["stage"] == {"extract": "analyze", "edit": "estimate"}[stage]
    assert sum(plan["lessons"] for plan in report["plans"]) == len(HEALED) + 1
    used = report["model"]["stages"][stage]
    assert sum(used["failures"].values()) == len(TOLD)
    assert report["model"]["stages"]["probe"]["calls"] == 1  # the endpoint is there: these are the rollouts'
    assert store.states(report["branch"]) == {"intact"}

    teach(llm_server)
    rest = store.train("rollouts.jsonl")
    assert (len(rest["already"]), rest["failures"]) == (len(HEALED) + 1, [])
    assert set(store.pages(rest["branch"])) == set(LESSONS)
    assert json.loads(store.xp("status", "--json"))["open_rollouts"] == 0


def test_where_all_fail_the_exit_code_says_so_and_all_stay_open(store, llm_server):
    teach(llm_server).on("extract", Fault("refusal"))
    report = store.asks(llm_server).train("rollouts.jsonl", code=1)
    assert len(report["failures"]) == len(CASES)
    assert (report["plans"], report["nothing"]) == ([], {})
    assert json.loads(store.xp("status", "--json"))["open_rollouts"] == len(CASES)
    text = store.xp("train", "rollouts.jsonl", "--learner", "llm", code=1)
    assert f"{len(CASES)} failed to be read by the learner" in text
    assert "without an answer (refusal 22)" in text


@pytest.mark.parametrize("name", ["status", "refusal", "not_json", "wrong_schema", "empty", "invented"])
def test_a_merge_that_fails_is_made_by_rule(store, llm_server, name):
    """Also one of the form that was asked for, with numbers that nobody has shown."""
    strange = {"account": [{"number": 900, "fate": "kept"}], "wordings": [], "pages": []}
    teach(llm_server).on("merge", strange if name == "invented" else fault_of(name, None))
    report = store.asks(llm_server).train("few.jsonl")
    assert (report["failures"], report["refused"]) == ([], {})
    assert set(report["fallbacks"]) == set(FEW)
    assert set(store.pages(report["branch"])) == set(FEW)
    assert store.states(report["branch"]) == {"intact"}


def test_what_a_merge_would_lose_is_not_lost(store, llm_server):
    def lossy(seen):
        kept = merge(seen)
        return {**kept, "account": kept["account"][1:]}

    teach(llm_server).on("merge", lossy)
    report = store.asks(llm_server).train("few.jsonl")
    pages = store.pages(report["branch"])
    assert all(LESSONS[name] in pages[name] for name in FEW)


def test_where_no_quote_is_true_the_next_run_asks_again_and_learns(store, llm_server):
    def invented(seen):
        answer = extract(seen)
        return {
            **answer,
            "notes": [
                {**note, "findings": [{**f, "quote": "nobody said this"} for f in note["findings"]]}
                for note in answer["notes"]
            ],
        }

    teach(llm_server).on("extract", invented)
    report = store.asks(llm_server).train("few.jsonl", code=1)
    assert {row["error"].partition(", also")[0] for row in report["failures"]} == {
        "AskError: the model's answer is wrong"
    }
    assert report["model"]["stages"]["extract"]["failures"] == {"wrong": len(report["failures"])}
    teach(llm_server)
    again = store.train("few.jsonl")
    assert (again["failures"], set(store.pages(again["branch"]))) == ([], set(FEW))

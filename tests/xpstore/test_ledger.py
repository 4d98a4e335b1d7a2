from __future__ import annotations

import pytest

from tests.builders import make_store
from xpstore import evidence, ledger
from xpstore.errors import FormatError
from xpstore.ledger import is_closed, is_learned, ledgers

A, B = "a" * 20, "b" * 20
RECEIVED = {"event": "received"}
PLANNED = {"event": "planned", "learner": "offline/1", "plan": "p1"}
NOTHING = {"event": "nothing", "learner": "offline/1", "why": "no tools"}
DROPPED = {"event": "dropped"}


def test_an_empty_store_has_no_ledger(tmp_path):
    assert dict(ledgers(make_store(tmp_path))) == {}


def test_every_rollout_with_its_events_in_one_pass(tmp_path):
    loc = make_store(tmp_path)
    evidence.write(
        loc,
        [
            evidence.ledger_file(A, RECEIVED),
            evidence.ledger_file(A, PLANNED),
            evidence.ledger_file(B, NOTHING),
        ],
        "Test",
    )
    found = dict(ledgers(loc))
    assert set(found) == {A, B}
    assert found[A] == evidence.ledger(loc, A)
    assert found[B] == [NOTHING]


@pytest.mark.parametrize(
    ("events", "learned"),
    [
        ([RECEIVED], False),
        ([RECEIVED, PLANNED], True),
        ([RECEIVED, {**PLANNED, "plan": "deleted"}], False),
        ([RECEIVED, {**PLANNED, "learner": "offline/2"}], False),
        ([RECEIVED, NOTHING], True),
        ([RECEIVED, {**NOTHING, "learner": "gpt/1"}], False),
        ([RECEIVED, DROPPED], True),
    ],
)
def test_learned_is_what_can_be_reached(events, learned):
    assert is_learned(events, "offline/1", frozenset({"p1"})) is learned


def test_closed_is_what_any_learner_or_a_person_is_done_with():
    landed = frozenset({"p1"})
    assert not is_closed([RECEIVED], landed)
    assert not is_closed([RECEIVED, {"event": "analysed"}], landed)
    assert not is_closed([RECEIVED, {**PLANNED, "plan": "deleted"}], landed)
    for end in (PLANNED, NOTHING, DROPPED):
        assert is_closed([RECEIVED, end], landed)


@pytest.mark.parametrize("event", [{}, {"event": "invented"}, {"event": ["nothing"]}])
def test_an_event_of_nobody_is_an_error(tmp_path, event):
    loc = make_store(tmp_path)
    evidence.write(loc, [evidence.json_file(f"ledger/aa/aa11/{'1' * 20}.json", event)], "By hand")
    with pytest.raises(FormatError, match="no known event"):
        dict(ledgers(loc))


def test_only_what_changed_is_read_again_and_not_too_much_is_remembered(tmp_path, monkeypatch):
    loc = make_store(tmp_path)
    ids = [f"{number:02x}" * 10 for number in range(8)]
    evidence.write(loc, [evidence.ledger_file(i, RECEIVED) for i in ids], "Test")
    first = dict(ledgers(loc))
    known = ledger._known[loc.repo]
    assert len(known) == 8
    evidence.write(loc, [evidence.ledger_file(ids[3], NOTHING)], "Test")
    second = dict(ledgers(loc))
    assert [i for i in ids if second[i] is not first[i]] == [ids[3]]
    assert second[ids[3]] == evidence.ledger(loc, ids[3])
    monkeypatch.setattr(ledger, "KNOWN", 5)
    known.clear()
    assert dict(ledgers(loc)) == second
    assert len(known) <= 5

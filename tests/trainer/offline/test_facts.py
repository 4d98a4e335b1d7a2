from __future__ import annotations

from tests.trainer.offline.world import SYSTEM, call, facts, rollout, say
from trainer.domain import RubricEvaluation
from trainer.offline.condition import Atom
from trainer.offline.facts import read_facts
from trainer.offline.objects import Ref, Term

ORDER = {"order_id": "O1", "status": "packed"}
PACKED = (Atom("is", Term("value", Ref("status", ("order_id",))), "packed"),)


def test_a_transcript_becomes_events_in_order() -> None:
    found = facts(
        [
            say("system", SYSTEM),
            say("user", "hi"),
            call("get_order", {"order_id": "O1"}, ORDER),
            say("assistant", "ok"),
        ]
    )
    assert [getattr(e, "tool", "") or getattr(e, "role", "") for e in found.events] == [
        "user",
        "get_order",
        "assistant",
    ]
    assert found.system == SYSTEM
    assert found.calls[0].data == ORDER
    assert [c.at for c in found.calls] == [1]


def test_what_a_user_calls_is_neither_done_nor_seen_by_the_agent() -> None:
    found = facts(
        [
            say("user", "My phone has no service."),
            call("toggle_roaming", {"line_id": "L1"}, {"line_id": "L2"}, role="user"),
            call("check_sim", {}, "no SIM", refused=True, role="user"),
            say("user", "Done."),
            call("get_line", {"line_id": "L2"}),
        ]
    )
    assert [c.tool for c in found.calls] == ["get_line"]
    assert found.unseen[found.calls[0].at] == {"line_id"}


def test_a_refusal_has_a_template_and_no_data() -> None:
    found = facts([call("pay", {"amount": 5}, "Error: only 3 left", refused=True)])
    assert found.calls[0].refused
    assert found.calls[0].template == "only <amount> left"
    assert found.calls[0].data is None


def test_conditions_are_judged_by_what_was_read_before() -> None:
    found = facts(
        [
            call("cancel", {"order_id": "O1"}),
            call("get_order", {"order_id": "O1"}, ORDER),
            call("cancel", {"order_id": "O1"}),
        ]
    )
    assert [found.holds(PACKED, c.at) for c in found.of("cancel")] == [None, True]
    assert found.met(PACKED, "order_id")
    assert not found.met(PACKED, "customer_id")


def test_made_up_identifiers_are_seen() -> None:
    found = facts(
        [
            say("user", "order O1"),
            call("get_order", {"order_id": "O1"}, ORDER),
            call("cancel", {"order_id": "O2"}),
        ]
    )
    assert found.unseen[found.of("cancel")[0].at] == {"order_id"}
    assert not found.unseen[found.of("get_order")[0].at]


def test_raw_arguments_and_broken_answers_are_survived() -> None:
    found = facts([call("run", "raw text", "{broken"), call("run", [1], "[" * 9)])
    assert [c.arguments for c in found.calls] == [{}, {}]
    assert [c.data for c in found.calls] == [None, None]


def test_labels_and_criteria_are_kept_apart() -> None:
    made = rollout([], expected=[{"name": "cancel", "arguments": {"order_id": "O1"}}, "junk"])
    found = read_facts(made, RubricEvaluation(passed=False, score=0))
    assert found.failed
    assert found.expected == (("cancel", {"order_id": "O1"}),)
    assert read_facts(rollout([]), RubricEvaluation(passed=True, score=1)).expected is None

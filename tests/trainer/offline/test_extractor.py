from __future__ import annotations

import asyncio

from tests.trainer.offline.world import call, rollout, say
from trainer.offline.extractor import OfflineExtractor
from xpstore.trajectory import Trajectory  # noqa: TC001

READ = call("get_order", {"order_id": "O17"}, {"order_id": "O17", "name": "Ann Lee"})
CANCEL = call("cancel_order", {"order_id": "O17"}, "Error: order O17 is locked", refused=True)
BOOK = call("create_order", {"items": ["I99"]}, {})


def notes(messages: list, **options: object) -> list[Trajectory]:
    made = rollout(messages, **options)  # type: ignore[arg-type]
    return asyncio.run(OfflineExtractor().extract(made, made.evaluation))


def test_a_note_says_what_happened_without_instance_data() -> None:
    (note,) = notes([say("user", "Cancel O17 for Ann Lee"), READ, CANCEL], passed=False)
    assert "1. `get_order` with `order_id`" in note.content
    assert "2. `cancel_order` with `order_id`: refused, “order <id> is locked”" in note.content
    assert note.outcome == "failure"
    assert note.retrieval_anchor == "A task that used `cancel_order`, after `get_order`"
    assert not [x for x in ("O17", "Ann", "I99") if x in note.content + note.retrieval_anchor]


def test_several_intents_become_several_notes() -> None:
    found = notes([say("user", "x"), READ, CANCEL, BOOK])
    assert [n.name.rsplit("-", 2)[0] for n in found] == ["cancel-order", "create-order"]
    assert "Part 1 of 2" in found[0].content


def test_talk_alone_is_noted_and_silence_is_not() -> None:
    (note,) = notes([say("user", "hi")])
    assert "No tool was called" in note.content
    assert notes([]) == []


def test_hostile_names_and_feedback_stay_out() -> None:
    (note,) = notes([say("user", "x"), call("evil\n## Do this", {"a`b": 1}, {})])
    assert "## Do this" not in note.content
    assert "a`b" not in note.content
    assert "a tool" in note.content


def test_nobody_scored_it() -> None:
    made = rollout([say("user", "hi")])
    (note,) = asyncio.run(OfflineExtractor().extract(made, None))
    assert note.outcome == "unknown"
    assert "Nobody scored it" in note.content

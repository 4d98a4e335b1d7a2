from __future__ import annotations

import json

from tests.trainer.offline.world import rollout, say, shop
from trainer.offline.facts import read_facts
from trainer.offline.learn import learn
from trainer.offline.report import pooled, report, why_nothing
from trainer.stats import Table


def test_the_report_counts_what_was_tried_kept_and_dropped() -> None:
    learning = learn(read_facts(r, r.evaluation) for r in shop(24, 6) if r.evaluation)
    found = report(learning, ["a: b"])
    assert json.loads(json.dumps(found)) == found
    assert (found["rollouts"], found["cases"], found["undone"]) == (144, 24, ["a: b"])
    assert [row["family"] for row in found["kept"]] == ["decision"]  # type: ignore[union-attr, index, call-overload]
    assert "decision" in found["dropped"]  # type: ignore[operator]
    assert pooled(learning.lessons) == learning.lessons[0].left_out_failed
    assert pooled([]) == Table()


def test_every_rollout_that_taught_nothing_has_one_sentence() -> None:
    made = [rollout([], case="empty"), rollout([say("user", "hi")], case="asked")]
    made += [rollout([say("assistant", "hello")], case="talk"), *shop(4, 2)]
    facts = [read_facts(r, r.evaluation) for r in made if r.evaluation]
    found = why_nothing(learn(facts), facts, set())
    assert set(found) == {f.id for f in facts}
    reasons = {"it has no messages", "it shows nothing that the agent said or did", "it has no tool call"}
    assert reasons <= set(found.values())
    assert why_nothing(learn(facts), facts, set(found)) == {}

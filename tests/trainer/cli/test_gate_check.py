from __future__ import annotations

from tests.builders import git
from tests.trainer.gate_store import answer, xp


def test_the_gate_can_be_tried_itself(gate_store, capsys):
    refs = git(gate_store, "for-each-ref")
    assert xp("gate", "--self-test", "--json") == 0
    found = answer(capsys)
    assert (found["comparisons"], found["called_progress"]) == (15, 0)
    assert (found["harm"], found["harm_decision"]) == ("no experiences at all", "reject")
    assert found["problems"] == []
    assert xp("gate", "--self-test") == 0
    out = capsys.readouterr().out
    assert "0 called progress, 0 called worse" in out
    assert out.endswith("The gate can be trusted with these cases.\n")
    assert git(gate_store, "for-each-ref") == refs


def test_a_gate_whose_cases_need_no_experience_is_not_to_be_trusted(gate_store, capsys):
    git(gate_store, "rm", "-rq", "experiences")
    git(gate_store, "commit", "-q", "-m", "Forget all")
    assert xp("gate", "--self-test") == 2
    assert "PROBLEM: no sabotage that was tried harms the agent" in capsys.readouterr().out

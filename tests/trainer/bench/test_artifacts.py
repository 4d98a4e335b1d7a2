from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from trainer.bench.artifacts import KeepingExecutor, artifacts
from trainer.context import ExecutionContext
from trainer.domain import Case, Message, Rollout, Rubric, RubricEvaluation, TextPart
from xpstore.errors import XpError
from xpstore.experience import ExperienceSet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

POLICY = ExperienceSet(root_uri="experiences", snapshot_id="c1")


class Counting:
    """Makes a rollout, and counts."""

    def __init__(self, text: str = "hello") -> None:
        self.calls = 0
        self.text = text

    async def execute(
        self, cases: Sequence[Case], policy_set: ExperienceSet, context: ExecutionContext
    ) -> list[Rollout]:
        self.calls += 1
        return [
            Rollout(
                case=case,
                messages=(Message(role="user", parts=(TextPart(text=self.text),)),),
                policy_snapshot_id=context.policy_snapshot_id,
                evaluation=RubricEvaluation(passed=True, score=1.0),
                metadata={"seed": context.seed},
            )
            for case in cases
        ]


def case(name: str = "one") -> Case:
    return Case(name=name, rubric=Rubric(name="r"))


def context(**more: object) -> ExecutionContext:
    return ExecutionContext.model_validate({"policy_snapshot_id": "c1", "seed": 4, **more})


def run(executor: KeepingExecutor, one: Case, about: ExecutionContext) -> Rollout:
    return asyncio.run(executor.execute([one], POLICY, about))[0]


def test_what_is_kept_is_not_made_again(tmp_path: Path):
    inner = Counting()
    executor = KeepingExecutor(inner, tmp_path / "rollouts", "w")
    first = run(executor, case(), context())
    assert run(executor, case(), context()) == first
    assert inner.calls == 1
    [kept] = artifacts(tmp_path / "rollouts")
    assert (kept.rollout, kept.trial, kept.seed, kept.snapshot, kept.world) == (first, 0, 4, "c1", "w")
    assert [f.name[:6] for f in (tmp_path / "rollouts" / "eval").iterdir()] == ["one.0."]


def test_whatever_decides_a_rollout_makes_another_one(tmp_path: Path):
    inner = Counting()
    executor = KeepingExecutor(inner, tmp_path, "w")
    run(executor, case(), context())
    for one, about in (
        (case("two"), context()),
        (case(), context(seed=5)),
        (case(), context(policy_snapshot_id="c2")),
        (case(), context(training=True)),
    ):
        run(executor, one, about)
    run(KeepingExecutor(inner, tmp_path, "v"), case(), context())
    assert inner.calls == 6
    assert len(list(artifacts(tmp_path))) == 6


@pytest.mark.parametrize("damage", [b"", b"{", b"[" * 100_000, b'{"id": "x"}', b"\xff"])
def test_what_is_damaged_is_made_again(tmp_path: Path, damage: bytes):
    inner = Counting()
    executor = KeepingExecutor(inner, tmp_path, "w")
    run(executor, case(), context())
    [file] = (tmp_path / "eval").iterdir()
    file.write_bytes(damage)
    assert list(artifacts(tmp_path)) == []
    run(executor, case(), context())
    assert inner.calls == 2
    assert len(list(artifacts(tmp_path))) == 1


def test_a_file_under_another_ones_name_is_not_believed(tmp_path: Path):
    inner = Counting()
    executor = KeepingExecutor(inner, tmp_path, "w")
    run(executor, case(), context())
    [file] = (tmp_path / "eval").iterdir()
    file.write_text(json.dumps({**json.loads(file.read_bytes()), "id": "another"}), "utf-8")
    run(executor, case(), context())
    assert inner.calls == 2


def test_a_name_is_never_a_path(tmp_path: Path):
    run(KeepingExecutor(Counting(), tmp_path / "in", "w"), case("../../etc/pass wd\0" + "x" * 300), context())
    [file] = (tmp_path / "in" / "eval").iterdir()
    assert file.name.startswith("_etc_pass_wd_")
    assert not [other for other in tmp_path.iterdir() if other.name != "in"]


def test_secrets_are_masked_in_the_file(tmp_path: Path):
    secret = "AKIA" + "QYLPMN5HFIQR7XYA"
    executor = KeepingExecutor(Counting(f"my key is {secret}"), tmp_path, "w")
    assert secret in run(executor, case(), context()).messages[0].text
    [file] = (tmp_path / "eval").iterdir()
    assert secret.encode() not in file.read_bytes()
    assert run(executor, case(), context()).case == case()


def test_no_room_is_an_error_and_leaves_nothing_half(tmp_path: Path):
    (tmp_path / "eval").write_text("a file where the folder should be", "utf-8")
    with pytest.raises(XpError, match="cannot write"):
        run(KeepingExecutor(Counting(), tmp_path, "w"), case(), context())

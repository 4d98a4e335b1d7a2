"""The learner on the order desk: what it gains, that noise teaches nothing, that it can be undone."""

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builders import git
from trainer.context import ExecutionContext, ExperienceGradientContext, LearnedHistory
from trainer.domain import RolloutAnalysis
from trainer.environments.order_desk import make, suites
from trainer.offline.editor import edit
from xpstore.document import Document
from xpstore.experience import Experience, ExperienceSet
from xpstore.merge import merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.domain import Case, Rollout

DEFAULT = 7
OTHERS = (1, 2, 3, 4)
EMPTY = ExperienceSet(root_uri="experiences")
TESTED = (1, 2, 3, 4)
TRAINED = tuple(range(101, 109))
pytestmark = pytest.mark.slow


def rollouts(
    seed: int,
    cases: Sequence[Case],
    pages: ExperienceSet,
    trials: Sequence[int] = TRAINED,
    *,
    training: bool = False,
) -> list[Rollout]:
    executor = make({"seed": seed}).executor()

    async def all_trials() -> list[Rollout]:
        found: list[Rollout] = []
        for trial in trials:
            context = ExecutionContext(policy_snapshot_id="test", seed=trial, training=training)
            found += await executor.execute(cases, pages, context)
        return found

    return asyncio.run(all_trials())


def points(seed: int, pages: ExperienceSet, trials: Sequence[int] = TESTED) -> float:
    """Percent of the test rollouts that pass."""
    found = rollouts(seed, suites(seed)["test"], pages, trials)
    return 100 * sum(r.evaluation is not None and r.evaluation.passed for r in found) / len(found)


def learned(evidence: Sequence[Rollout], pages: ExperienceSet = EMPTY) -> ExperienceSet:
    """Return the pages after training, as the engine merges them; all statements there are the learner's."""
    analyses = [RolloutAnalysis(rollout=r, evaluation=r.evaluation) for r in evidence if r.evaluation]
    mine = {p.name: frozenset(s.key for s in Document.parse(p.text).statements()) for p in pages.policies}
    context = ExperienceGradientContext(history=LearnedHistory(learner_statements=mine))
    texts: dict[str, str | None] = {p.name: p.text for p in pages.policies}
    for gradient in edit(analyses, pages, context).gradients:
        name = gradient.target_experience_name
        before = gradient.before_file.content if gradient.before_file else None
        after = gradient.after_file.content if gradient.after_file else None
        texts[name] = merge(before, texts.get(name), after).text
    found = [Experience(name=n, text=text) for n, text in sorted(texts.items()) if text is not None]
    return ExperienceSet(root_uri="experiences", policies=tuple(found))


@cache
def evidence_of(seed: int) -> tuple[Rollout, ...]:
    return tuple(rollouts(seed, suites(seed)["train"], EMPTY, training=True))


@cache
def pages_of(seed: int) -> ExperienceSet:
    return learned(evidence_of(seed))


def gain(seed: int) -> float:
    return points(seed, pages_of(seed)) - points(seed, EMPTY)


def permuted(evidence: Sequence[Rollout], seed: int) -> list[Rollout]:
    """Scores and feedback move among the rollouts."""
    outcomes = [r.evaluation for r in evidence]
    random.Random(seed).shuffle(outcomes)  # noqa: S311
    return [r.model_copy(update={"evaluation": e}) for r, e in zip(evidence, outcomes, strict=True)]


@pytest.mark.stress  # the README has it, and its test
def test_the_default_seed_gains_forty_points() -> None:
    before = points(DEFAULT, EMPTY)
    assert 15 <= before <= 45
    assert points(DEFAULT, pages_of(DEFAULT)) >= before + 40


@pytest.mark.stress
def test_reverted_it_is_as_before_on_other_trial_seeds(tmp_path: Path) -> None:
    def typed(*arguments: str) -> str:
        command = [str(Path(sys.executable).with_name("xp")), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    said = typed("demo", "desk")
    before = float(re.findall(r"^baseline accuracy: ([\d.]+)%", said, re.MULTILINE)[0])
    learned_commits = git(tmp_path / "desk", "log", "--author=offline", "--format=%H", "main").split()
    assert learned_commits
    for commit in learned_commits:
        typed("-C", "desk", "revert", commit, "--no-gate")
    again = json.loads(typed("-C", "desk", "eval", "--fresh", "--seed", "99", "--json"))
    assert abs(100 * again["accuracy"] - before) <= 5


def test_nothing_of_the_cases_is_in_a_lesson() -> None:
    cases = suites(4, train=36, gate=6, test=6)["train"]
    said = " ".join(p.text for p in learned(rollouts(4, cases, EMPTY, training=True)).policies)
    assert said
    for case in cases:
        world = case.input["world"]
        for rows in world.values():  # type: ignore[union-attr]
            assert not [v for row in rows for k, v in row.items() if k.endswith("_id") and v in said]  # type: ignore[union-attr, index, operator]


@pytest.mark.stress
def test_one_batch_or_four_in_any_order_end_with_the_same_bytes() -> None:
    evidence = list(evidence_of(DEFAULT))
    random.Random(5).shuffle(evidence)  # noqa: S311
    pages = EMPTY
    size = len(evidence) // 4
    for end in (size, 2 * size, 3 * size, len(evidence)):
        pages = learned(evidence[:end], pages)
    assert {p.name: p.text for p in pages.policies} == {p.name: p.text for p in pages_of(DEFAULT).policies}


@pytest.mark.stress
def test_four_of_five_other_companies_gain_twenty_five_points() -> None:
    assert sum(gain(seed) >= 25 for seed in (*OTHERS, 5)) >= 4


@pytest.mark.stress
def test_permuted_outcomes_teach_nothing_that_helps() -> None:
    seeds = (DEFAULT, *OTHERS)
    without = [points(seed, EMPTY) for seed in seeds]
    noise = [points(seed, learned(permuted(evidence_of(seed), seed))) for seed in seeds]
    assert sum(noise) / len(seeds) <= sum(without) / len(seeds) + 5

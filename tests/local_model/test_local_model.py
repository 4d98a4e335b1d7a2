"""What holds with any model, however bad: forms, provenance, checks and what is done where they say no.

None of it is about wisdom. The model is a small one, and its answers are cut short (serve.py).
"""

from __future__ import annotations

import asyncio
import json
import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git, make_store
from trainer import demo
from trainer.asking.open import open_asker
from trainer.asking.question import AskError
from trainer.context import ExecutionContext
from trainer.domain import Case, Rollout, Rubric, RubricCriterion
from trainer.environments.order_desk.cases import suites
from trainer.environments.order_desk.desk import make
from trainer.llm_learner.judge import UNPROVEN, RubricJudge
from trainer.llm_learner.resolver import LLMResolver
from trainer.llm_learner.transcript import is_quoted, whole_text
from trainer.loop import LoopOptions
from xpstore.cli.main import run
from xpstore.experience import ExperienceSet
from xpstore.resolution import resolve

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from trainer.asking.asker import ModelAsker
    from xpstore.settings import LlmSettings

pytestmark = pytest.mark.local_model

CASES = suites(7, train=6, gate=0, test=0)["train"][:4]
NOTHING = ExperienceSet(root_uri="experiences")
CONTEXT = ExecutionContext(policy_snapshot_id="abc", seed=1, training=True)
DO = "- When the order is shipped, call `cancel_order`.\n"
DO_NOT = "- When the order is shipped, do not call `cancel_order`.\n"
BASE = "## Approach\n\n{}- Be short.\n"


def played(count: int = len(CASES)) -> list[Rollout]:
    """Rollouts of the order desk, by the agent without a model."""
    return asyncio.run(make({}).executor().execute(CASES[:count], NOTHING, CONTEXT))


def test_it_learns_or_says_why_not_and_the_recording_replays(
    local_model: LlmSettings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    rollouts = played()
    lines = [rollout.model_dump_json() for rollout in rollouts]
    (tmp_path / "rollouts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    make_store(tmp_path / "s")
    config = tmp_path / "s" / "xp.toml"
    fields = ("model", "base_url", "timeout", "retries", "parallel", "context_tokens")
    table = [f"{name} = {json.dumps(getattr(local_model, name))}" for name in fields]
    config.write_text("\n".join((config.read_text("utf-8"), "[llm]", *table, "")), "utf-8")
    git(tmp_path / "s", "commit", "-q", "-a", "-m", "Name a model")
    shutil.copytree(tmp_path / "s", tmp_path / "t")

    def xp(store: str, *words: str) -> dict:
        capsys.readouterr()
        code = run(["-C", str(tmp_path / store), *words, "--json"])
        out, err = capsys.readouterr()
        assert code in {0, 1}, err  # 1: there was no answer about any of them
        return json.loads(out)

    train = ("train", str(tmp_path / "rollouts.jsonl"), "--learner", "llm")
    report = xp("s", *train, "--record", str(tmp_path / "tape"))
    assert report["model"]["stages"]["extract"]["calls"] >= len(CASES)
    plans = [xp("s", "show", plan["plan_id"]) for plan in report["plans"]]
    ends = {rollout for plan in plans for rollout in plan["rollouts"]}
    ends |= report["nothing"].keys() | {f["rollout"] for f in report["failures"]}
    assert ends == {rollout.id for rollout in rollouts}, "each is learned from, or it says why not"
    assert all(report["nothing"].values())
    assert all(failure["error"] for failure in report["failures"])
    again = xp("t", *train, "--replay", str(tmp_path / "tape"))
    for name in ("plans", "nothing", "failures"):
        assert [_same(item) for item in again[name]] == [_same(item) for item in report[name]]
    assert fsck(tmp_path / "s") is None


def test_a_demo_comes_to_its_end_however_slow_the_model_is(
    local_model: LlmSettings,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    """With all settings as they are for everybody: more questions at once than it can answer side by side."""
    monkeypatch.setenv("OPENAI_BASE_URL", local_model.base_url)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "FEW", LoopOptions(trials=2, evaluate=False))
    monkeypatch.setattr(demo, "suites", lambda seed: suites(seed, train=6, gate=2, test=1))
    words = [
        "demo",
        "d",
        "--seed",
        "7",
        "--train-limit",
        "2",
        "--learner",
        "llm",
        "--model",
        local_model.model,
    ]
    code = run([*words, "--llm", f"context_tokens={local_model.context_tokens}", "--json"])
    out, err = capsys.readouterr()
    assert code in {0, 1}, err  # 1: there was no answer of use about any of them
    answer = json.loads(out)
    (epoch,) = answer["epochs"]
    assert epoch["n"] == 4
    used = answer["model"]["total"]
    assert used["calls"] >= 4, "each was read"
    assert not used["failures"].keys() & {"timeout", "connection", "http"}, "no question was lost on the way"
    assert fsck(tmp_path / "d") is None


def _same(item: object) -> object:
    """What is the same in every run: a plan's id, and not its commit."""
    return item["plan_id"] if isinstance(item, dict) and "plan_id" in item else item


def test_a_conflict_is_resolved_with_a_true_account_or_left_to_a_person(local_model: LlmSettings):
    @asynccontextmanager
    async def opening() -> AsyncIterator[ModelAsker]:
        async with open_asker(local_model) as asker:
            yield asker

    model = LLMResolver.alone(opening, local_model.model, context_tokens=local_model.context_tokens)
    resolved = resolve(BASE.format(""), BASE.format(DO), BASE.format(DO_NOT), model)
    if resolved.verdict == "VERIFIED":
        assert resolved.resolved_by == model.name
        assert resolved.text in {BASE.format(DO), BASE.format(DO_NOT)} or resolved.account
    else:
        assert resolved.verdict == "REFUSED", "no rule decides between opposites"
        assert resolved.objections


def test_a_judge_passes_nothing_without_a_true_quote(local_model: LlmSettings):
    (rollout,) = played(1)
    rubric = Rubric(name="desk", criteria=(RubricCriterion(name="read", description="The order was read."),))
    given = Rollout(case=Case(name="c", rubric=rubric), messages=rollout.messages)

    async def judged() -> None:
        async with open_asker(local_model) as asker:
            (result,) = (await RubricJudge(asker, 600).evaluate(given)).criterion_results
        if result.passed:
            assert result.evidence
            assert all(is_quoted(quote, whole_text(rollout.messages)) for quote in result.evidence)
        else:
            assert result.metadata.get(UNPROVEN, False) or result.score < 1

    try:
        asyncio.run(judged())
    except AskError as error:
        assert error.fault in {"form", "length"}  # noqa: PT017  # either end is a good one


def test_an_agent_acts_and_is_scored_whatever_it_does(local_model: LlmSettings):
    desk = make({"agent": "llm", "turns": 2, "max_tokens": 32}).with_model(local_model)
    (rollout,) = asyncio.run(desk.executor().execute(CASES[:1], NOTHING, CONTEXT))
    assert rollout.evaluation is not None
    assert 1 <= [m.role for m in rollout.messages].count("assistant") <= 2
    assert rollout.metadata["model"] == local_model.model
    assert all(part.tool_status in {"completed", "error"} for part in rollout.tools)

"""The learner on recordings of others: few lessons, true ones, and nothing of anybody's data."""

from __future__ import annotations

import ast
import json
import random
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import trainer.offline
from trainer.context import ExperienceGradientContext
from trainer.domain import RolloutAnalysis
from trainer.importers import read_rollouts
from trainer.offline.bench import Bench
from trainer.offline.check import check, pool
from trainer.offline.editor import edit
from trainer.offline.facts import read_facts
from trainer.offline.learn import Learning, learn, learn_from
from trainer.offline.outcomes import tells
from trainer.stats import difference_interval
from xpstore.experience import ExperienceSet
from xpstore.merge import merge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trainer.domain import EditResult, Rollout

ROOT = Path(__file__).parents[3]
DATA = ROOT.parent / "shared/data/tau-bench/gpt-4o-airline.tasks-0-39.json"
MANY = 12
pytestmark = pytest.mark.skipif(not DATA.exists(), reason=f"the recordings are not at {DATA}")


@pytest.fixture(scope="module")
def rollouts() -> tuple[Rollout, ...]:
    return read_rollouts([DATA]).rollouts


@pytest.fixture(scope="module")
def learning(rollouts: tuple[Rollout, ...]) -> Learning:
    return learn(read_facts(r, r.evaluation) for r in rollouts if r.evaluation)


@pytest.fixture(scope="module")
def edited(rollouts: tuple[Rollout, ...]) -> EditResult:
    analyses = [RolloutAnalysis(rollout=r, evaluation=r.evaluation) for r in rollouts if r.evaluation]
    random.Random(7).shuffle(analyses)  # noqa: S311
    return edit(analyses, ExperienceSet(root_uri="experiences"), ExperienceGradientContext())


@pytest.fixture(scope="module")
def files(edited: EditResult) -> dict[str, str]:
    found: dict[str, str] = {}
    for gradient in edited.gradients:
        assert gradient.after_file is not None
        name, content = gradient.target_experience_name, gradient.after_file.content
        found[name] = merge(None, found.get(name), content).text or ""
    return found


def leaves(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, str(name))
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, key)
    elif value is not None and not isinstance(value, bool):
        yield key, str(value)


def recorded() -> dict[str, set[str]]:
    """Key → values of all arguments and answers and labels of the input."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for record in json.loads(DATA.read_text()):
        sources: list[object] = [a["kwargs"] for a in record["info"]["task"]["actions"]]
        for message in record["traj"]:
            sources += [json.loads(c["function"]["arguments"]) for c in message.get("tool_calls") or []]
            if message["role"] == "tool" and message["content"][:1] in {"{", "["}:
                sources.append(json.loads(message["content"]))
        for source in sources:
            for key, value in leaves(source):
                found[key].add(value)
    return found


def test_few_short_files(files: dict[str, str]) -> None:
    assert 0 < len(files) <= 15
    assert max(text.count("\n") for text in files.values()) <= 60


def test_no_instance_data(files: dict[str, str]) -> None:
    said = "\n".join(line for text in files.values() for line in text.splitlines() if "*Support" not in line)
    values = recorded()
    many = {v for key, found in values.items() if len(found) > MANY for v in found if len(v) > 1}
    tokens = set(re.findall(r"[\w.-]+", said))
    assert not tokens & many
    literals = {v for found in values.values() for v in found if re.search(r"\d", v)}
    assert not [v for v in literals if len(v) > 1 and v in said]
    assert not re.findall(r"\d", said)


@pytest.mark.stress  # trainer/test_pipeline.py has it with less
def test_the_order_of_the_input_does_not_matter(files: dict[str, str], rollouts: tuple[Rollout, ...]) -> None:
    analyses = [RolloutAnalysis(rollout=r, evaluation=r.evaluation) for r in rollouts if r.evaluation]
    again = edit(analyses, ExperienceSet(root_uri="experiences"), ExperienceGradientContext())
    found: dict[str, str] = {}
    for gradient in again.gradients:
        assert gradient.after_file is not None
        name = gradient.target_experience_name
        found[name] = merge(None, found.get(name), gradient.after_file.content).text or ""
    assert found == files


def test_the_checker_finds_what_the_files_say(files: dict[str, str], learning: Learning) -> None:
    assert learning.bench is not None
    measured = [c for text in files.values() for c in check(text, learning.bench.corpus.rollouts) if c.table]
    assert len(measured) == len(learning.lessons)
    assert all(c.table and c.table.difference > 0 for c in measured)
    assert difference_interval(pool(measured))[0] > 0


def test_successes_and_failures_are_both_used(learning: Learning) -> None:
    assert learning.bench is not None
    ended = {r.id: r.failed for r in learning.bench.corpus.rollouts}
    for one in learning.lessons:
        assert {ended[i] for i in one.support} == {True, False}


def test_shuffled_outcomes_teach_almost_nothing(learning: Learning) -> None:
    assert learning.bench is not None
    written = sum(len(learn_from(shuffled(learning.bench, seed)).lessons) for seed in range(5))
    assert written <= 1


def shuffled(bench: Bench, seed: int) -> Bench:
    """Every outcome moves within its case, among the rollouts that could have it, and cases swap theirs."""
    rng = random.Random(seed)  # noqa: S311
    columns = {}
    for name, column in bench.columns.items():
        kind, _, rest = name.partition(" ")
        tool = rest.split(" ", 1)[0] if kind == "refused" else ""
        by_case: defaultdict[str, list[int]] = defaultdict(list)
        for at, r in enumerate(bench.corpus.rollouts):
            if not tool or (r.of(tool) and tells(r, name, tool)):
                by_case[r.case].append(at)
        donors = sorted(by_case)
        rng.shuffle(donors)
        new = [False] * len(column)
        for places, donor in zip((by_case[c] for c in sorted(by_case)), donors, strict=True):
            pool_ = [column[i] for i in by_case[donor]]
            drawn = (
                rng.sample(pool_, len(places))
                if len(places) <= len(pool_)
                else rng.choices(pool_, k=len(places))
            )
            for at, bad in zip(places, drawn, strict=True):
                new[at] = bad
        columns[name] = tuple(new)
    made = Bench(bench.corpus)
    made.__dict__.update(columns=columns, lessons=bench.lessons, judged=bench.judged, cases=bench.cases)
    return made


def test_the_learner_knows_no_domain() -> None:
    values = recorded()
    words = {k for k in values if "_" in k} | {
        v for found in values.values() if len(found) <= MANY for v in found
    }
    for record in json.loads(DATA.read_text()):
        words |= {c["function"]["name"] for m in record["traj"] for c in m.get("tool_calls") or []}
    words = {w for w in words if re.fullmatch(r"[a-z][a-z_]{3,}", w)} - {
        "think",
        "calculate",
        "name",
        "source",
    }
    generic = {"status", "amount", "type", "date", "available", "user", "number", "flights"}
    code = "\n".join(literals(p) for p in sorted(Path(trainer.offline.__file__).parent.rglob("*.py")))
    found = {w for w in words if re.search(rf"\b{w}\b", code)}
    assert found <= generic - {"flights"}


def literals(path: Path) -> str:
    """Return all texts of a module that are no docstrings, and all its names."""
    tree = ast.parse(path.read_text())
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    return "\n".join(
        str(node.value) if isinstance(node, ast.Constant) else node.id
        for node in ast.walk(tree)
        if (isinstance(node, ast.Constant) and id(node) not in docs) or isinstance(node, ast.Name)
    )

"""160 recorded rollouts of somebody else's agent become commits that a person would want to review."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import User

pytestmark = pytest.mark.slow
BRANCH = "train/lessons"


@pytest.fixture(scope="module")
def store(user: User, tau_bench: Path) -> User:
    """A store that has learned from all 160 rollouts; the first report is in `report.json` beside it."""
    user.xp("init", "s")
    report = user.json("-C", "s", "train", str(tau_bench), "--branch", BRANCH)
    (user.where / "report.json").write_text(json.dumps(report), encoding="utf-8")
    return user.at("s")


def report_of(store: User) -> dict:
    return json.loads((store.where.parent / "report.json").read_text(encoding="utf-8"))


def pages(store: User, ref: str = BRANCH) -> dict[str, str]:
    names = store.git("-c", "core.quotePath=off", "ls-tree", "--name-only", ref, "experiences/").splitlines()
    return {name: store.git("show", f"{ref}:{name}") for name in names}


def test_what_was_read_and_where_it_went(store):
    report = report_of(store)
    assert report["rollouts"] == 160
    assert report["passed"] == 59
    assert report["exit_code"] == 0
    assert not report["failures"]
    assert not report["problems"]
    learned = store.git("log", "--format=%H", f"main..{BRANCH}").splitlines()
    assert sorted(learned) == sorted(p["commit"] for p in report["plans"])
    assert learned, "nothing was learned"
    assert all(report["nothing"].values())


def test_few_short_pages(store):
    there = pages(store)
    assert 1 <= len(there) <= 15
    for name, text in there.items():
        assert len(text.splitlines()) <= 60, name
        assert "## Situation" in text


def test_successes_and_failures_were_both_used(store):
    text = "\n".join(pages(store).values())
    assert "## Approach" in text
    assert "## Reflect" in text


def test_every_lesson_shows_its_support_and_its_left_out_figures(store):
    for name, text in pages(store).items():
        lessons = re.findall(
            r"^- .*\n(?:  .*\n?)*", text.split("## Situation")[1].partition("## ")[2] + "\n", re.MULTILINE
        )
        assert lessons, name
        for lesson in lessons:
            assert re.search(r"\*Support: \d+ rollouts? in \d+ cases?\.", lesson), lesson
            assert "Left out:" in lesson


def values_by_key(value: object, found: dict[str, set[str]], key: str = "") -> None:
    """Collect every value under its key, JSON inside strings included."""
    if isinstance(value, str) and value[:1] in "[{":
        with suppress(ValueError):  # text that starts like JSON is text
            value = json.loads(value)
    if isinstance(value, dict):
        for inner, item in value.items():
            values_by_key(item, found, inner)
    elif isinstance(value, list):
        for item in value:
            values_by_key(item, found, key)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        found[key].add(str(value))


def test_no_instance_data_in_the_lessons(store, tau_bench):
    rollouts = json.loads(tau_bench.read_text(encoding="utf-8"))
    found: dict[str, set[str]] = defaultdict(set)
    tools = {
        call["function"]["name"]
        for rollout in rollouts
        for message in rollout["traj"]
        for call in message.get("tool_calls") or ()
    }
    for rollout in rollouts:
        values_by_key(rollout["info"]["task"]["actions"], found)
        for message in rollout["traj"]:
            for call in message.get("tool_calls") or ():
                values_by_key(call["function"]["arguments"], found)
            if message["role"] == "tool":
                values_by_key(message["content"], found)
    instance = {v for values in found.values() if len(values) > 12 for v in values} - tools
    everything = "\n".join(pages(store).values())
    figures = re.compile(r"^  \*(?:Support|Left out).*$", re.MULTILINE)
    prose = figures.sub("", everything)
    words = set(re.findall(r"[\w.@:#-]+", prose))
    assert not (words & instance)
    assert not [v for v in instance if len(v) > 3 and re.search(rf"(?<!\w){re.escape(v)}(?!\w)", prose)]
    assert not re.findall(r"\d", prose)


def test_a_second_run_has_nothing_to_learn(store, tau_bench):
    before = store.git("for-each-ref")
    said = store.xp("train", str(tau_bench))
    assert "160 already learned" in said
    assert store.git("for-each-ref") == before


@pytest.mark.stress  # trainer/test_pipeline.py has it with less
def test_the_order_and_the_number_of_batches_do_not_matter(store, user, tau_bench):
    rollouts = json.loads(tau_bench.read_text(encoding="utf-8"))
    random.Random(7).shuffle(rollouts)  # noqa: S311  # an order, no secret
    other = user.at("batches")
    user.xp("init", "batches")
    for number in range(2):  # four of them: test_order_desk.py
        part = user.where / f"part-{number}.json"
        part.write_text(json.dumps(rollouts[number::2]), encoding="utf-8")
        other.xp("train", str(part), "--branch", BRANCH)
    assert pages(other) == pages(store)


def test_plain_git_reads_it(store):
    log = store.git("log", "--format=%B", f"main..{BRANCH}")
    assert log.count("Plan-Id: ") == len(report_of(store)["plans"])
    assert "Learner: offline/" in log
    changed = store.git("diff", "--name-only", f"main...{BRANCH}").splitlines()
    assert changed
    assert all(name.startswith("experiences/") for name in changed)
    store.git("fsck", "--strict")


def test_it_verifies(store):
    assert store.json("verify", BRANCH)


def test_each_patch_applies_by_itself(store):
    names = store.git("ls-tree", "-r", "--name-only", "xp/evidence", "gradients/").splitlines()
    patches = [n for n in names if n.endswith(".patch")]
    assert patches
    for number, name in enumerate(patches):
        text = store.git("show", f"xp/evidence:{name}") + "\n"
        base = re.search(r"^Base-Commit: (\w+)$", text, re.MULTILINE).group(1)
        result = re.search(r"^Result-Blob: (\w+)$", text, re.MULTILINE).group(1)
        file = store.where.parent / f"{number}.patch"
        file.write_text(text, encoding="utf-8")
        place = store.where.parent / f"base-{number}"
        store.git("worktree", "add", "-q", "--detach", str(place), base)
        here = store.at(place)
        here.git("apply", "--check", str(file))
        here.git("am", "-q", str(file))
        changed = here.git("-c", "core.quotePath=off", "diff", "--name-only", "HEAD~").splitlines()
        assert len(changed) == 1
        assert here.git("rev-parse", f"HEAD:{changed[0]}") == result
        store.git("worktree", "remove", "--force", str(place))


@pytest.mark.stress  # test_undone_stays.py has it with less
def test_a_plain_revert_is_understood(store, tau_bench):
    """Evidence survives, verify passes, and training again does not bring the lesson back."""
    store.git("checkout", "-q", BRANCH)
    plan = report_of(store)["plans"][-1]
    before = pages(store, "HEAD")
    store.git("revert", "--no-edit", plan["commit"])
    reverted = pages(store, "HEAD")
    assert reverted != before
    assert store.json("verify", BRANCH)
    again = store.json("train", str(tau_bench), "--branch", BRANCH, "--again")
    assert again["plans"] == []
    assert pages(store, BRANCH) == reverted
    store.git("reset", "-q", "--hard", "HEAD~")
    store.git("checkout", "-q", "main")

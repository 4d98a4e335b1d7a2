"""Finding one bad update among many at the order desk, from scores that are noisy.

The fast games draw scores from pass rates that were measured at the desk, and play them through the real
model and chooser; the slow ones are real commits, real rollouts and the real command.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, upsert
from tests.trainer.bisect.desk import HARM, LESSONS, SEED, SLIP_RATE, history, pages_of, pass_rates, text_of
from tests.trainer.bisect.play import plain, search, tuned
from trainer.environments.order_desk import suites
from trainer.suite import write_suite
from xpstore.cli.main import run
from xpstore.commit import commit
from xpstore.location import Location

if TYPE_CHECKING:
    from pathlib import Path

# pass rates of the 24 cases of suite gate in 40 trials each, before and after the bad update
BEFORE = [
    *(0.68, 0.70, 0.70, 0.83, 0.70, 0.73, 0.60, 0.93, 0.90, 0.90, 0.65, 0.83),
    *(0.83, 0.83, 0.88, 0.83, 0.98, 0.70, 0.88, 0.98, 0.60, 0.85, 0.53, 0.88),
]
AFTER = [
    *(0.05, 0.15, 0.03, 0.93, 0.13, 0.08, 0.15, 1.00, 0.90, 0.90, 0.65, 0.83),
    *(0.83, 0.83, 1.00, 0.10, 0.98, 0.70, 0.88, 0.98, 0.13, 1.00, 0.08, 0.95),
]


def say(line: str) -> None:
    """Write a line of a table: `make stress` with `-s` shows it."""
    sys.stdout.write(f"{line}\n")


def games(before, after, suspects, seeds, **options):
    """Play searches, the cases in another order each time: how many were right, named wrongly; rollouts."""
    right = wrong = rollouts = 0
    for seed in seeds:
        order = random.Random(seed).sample(range(len(before)), len(before))  # noqa: S311  # a game
        rates = ([side[case] for case in order] for side in (before, after))
        answer, culprit, cost = search(seed, *rates, suspects, **options)
        named = answer.kind == "found"
        right += named and answer.first == answer.last == culprit
        wrong += named and not answer.first <= culprit <= answer.last
        rollouts += cost
    return right, wrong, rollouts / len(seeds)


def test_it_is_as_right_as_plain_bisection_for_fewer_rollouts():
    right, wrong, rollouts = games(BEFORE, AFTER, 16, range(8))
    assert (right, wrong) == (8, 0)
    assert rollouts < 130
    per_commit = 70  # 4 steps: 280 rollouts, which find 9 of 10 or a few more
    assert sum(plain(seed, BEFORE, AFTER, 16, per_commit) for seed in range(200)) < 196


def test_it_names_nobody_where_nothing_fell():
    assert games(BEFORE, BEFORE, 8, range(3), most=400)[:2] == (0, 0)


@pytest.fixture(scope="module")
def empty_desk(tmp_path_factory):
    """A store of the order desk whose pages are right."""
    root = tmp_path_factory.mktemp("desk") / "s"
    make_store(root)
    options = f"[environment.options]\nseed = {SEED}\nslip_rate = {SLIP_RATE}\n"
    with (root / "xp.toml").open("a", encoding="utf-8") as config:
        config.write(f'\n[environment]\nname = "order-desk"\n\n{options}')
    (root / "cases").mkdir()
    for suite, cases in suites(SEED).items():
        (root / "cases" / f"{suite}.jsonl").write_bytes(write_suite(cases))
    return root


def desk(template: Path, where: Path, updates: int, culprit: int) -> Location:
    """Return a store with the tag `good` and so many updates after it."""
    shutil.copytree(template, where, symlinks=True)
    git(where, "add", ".")
    git(where, "commit", "-qm", "Open the desk")
    loc = Location.find(where)
    before: dict[str, str] = {}
    for number, lessons in enumerate(history(updates, culprit)):
        texts = {name: text_of(name, found) for name, found in lessons.items()}
        items = [upsert(n, text, before.get(n)) for n, text in texts.items() if before.get(n) != text]
        commit(loc, [make_plan(loc, *items, subject=f"Round {number}")], "main")
        before = texts
        if not number:
            git(where, "tag", "good")
    return loc


def bisected(where: Path, capsys, *args: str) -> dict:
    capsys.readouterr()
    assert run(["-C", str(where), "bisect", "--good", "good", "--bad", "main", "--json", *args]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_desk_itself(empty_desk, tmp_path, capsys):
    """Real commits, real rollouts, the real command; the same again costs nothing, and is undone."""
    desk(empty_desk, tmp_path / "d", 6, 4)
    found = bisected(tmp_path / "d", capsys)
    assert (found["suspects"], [one["subject"] for one in found["culprit"]]) == (6, ["Round 4"])
    assert found["rollouts"] < 150
    worst = found["fell"][0]
    assert worst["before"][0] / worst["before"][1] > 0.5 > worst["after"][0] / worst["after"][1]
    again = bisected(tmp_path / "d", capsys)
    assert (again["rollouts"], again["culprit"]) == (0, found["culprit"])
    assert run(["-C", str(tmp_path / "d"), *found["revert"].split()[3:], "--no-gate"]) == 0


@pytest.mark.stress
def test_sixty_four_updates_in_a_hundred_games():
    states = history(2, 2)
    before, after = (pass_rates(pages_of(states[n]), "gate", 40) for n in (1, 2))
    cost = 100 * (sum(before) - sum(after)) / len(before)
    assert 18 < cost < 23
    fell = [n for n, rate in enumerate(before) if rate - after[n] > 0.3]
    known = [[side[n] for n in fell] for side in (before, after)]
    say(f"\n64 updates, one costs {cost:.1f} points on {len(fell)} of {len(before)} cases, 100 games")
    found = {}
    for name, sides, options in (
        ("xp bisect, 8 rollouts at once", (before, after), {}),
        ("xp bisect, one rollout at a time", (before, after), {"batch": 1}),
        ("xp bisect, told the cases", known, {}),
    ):
        right, wrong, rollouts = found[name] = games(*sides, 64, range(100), most=2000, **options)
        say(f"  {name:36} right {right}, wrong {wrong}, {rollouts:6.1f} rollouts")
    per_commit = {}
    for name, sides in (("plain", (before, after)), ("plain, told the cases", known)):
        for accuracy in (0.95, 0.99):
            per_commit[name, accuracy] = tuned(*sides, 64, accuracy)
            say(f"  {name:28} at {accuracy:.0%}    {6 * per_commit[name, accuracy]:14} rollouts")
    right, wrong, rollouts = found["xp bisect, 8 rollouts at once"]
    assert right >= 95
    assert rollouts < 6 * per_commit["plain", 0.95]
    right, wrong, rollouts = games(before, before, 64, range(100), most=500)
    say(f"  nothing broken: {wrong + right} of 100 name somebody, {rollouts:.1f} rollouts")
    assert wrong + right <= 5


@pytest.mark.stress
@pytest.mark.parametrize("culprit", [5, 33, 62])
def test_sixty_four_real_updates(empty_desk, tmp_path, capsys, culprit):
    desk(empty_desk, tmp_path / "d", 64, culprit)
    found = bisected(tmp_path / "d", capsys)
    assert [one["subject"] for one in found["culprit"]] == [f"Round {culprit}"]
    say(f"\nculprit {culprit} of 64: {found['rollouts']} rollouts")


def test_the_harm_is_on_pages_that_there_are():
    assert HARM.keys() < LESSONS.keys()

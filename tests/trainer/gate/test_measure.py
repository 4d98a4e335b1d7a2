from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from tests.builders import git, make_plan, page, upsert
from tests.trainer.case_store import install_scripted
from tests.trainer.doubles import ScriptedExecutor
from tests.trainer.gate_store import make_gate_store, settle
from trainer import evaluate as measuring
from trainer.gate.measure import Gated, GateOptions, gate, ungateable
from trainer.store_door import StoreDoor
from trainer.trials import gate_seed, seed_of
from xpstore import evaluation, evidence, gate_record, gate_signature, measured
from xpstore.commit import commit
from xpstore.errors import UsageError
from xpstore.evaluation import EvaluationRecord
from xpstore.hashing import content_id
from xpstore.location import Location
from xpstore.snapshot import snapshot


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_gate_store(tmp_path_factory.mktemp("gate") / "s")


@pytest.fixture
def loc(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    monkeypatch.syspath_prepend(str(install_scripted(tmp_path / "site")))
    shutil.copytree(template, tmp_path / "s", symlinks=True)
    return Location.find(tmp_path / "s")


def gated(loc: Location, ref: str, against: str = "main", **options: object) -> Gated:
    async def run() -> Gated:
        async with StoreDoor(loc.repo.place) as door:
            new, old = loc.repo.resolve(ref), loc.repo.resolve(against)
            return await gate(door, new, old, GateOptions(**options))

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("branch", "decision", "progress"),
    [("train/better", "accept", True), ("train/neither", "accept", False), ("train/worse", "reject", False)],
)
def test_a_decision_is_on_record_with_all_that_it_was_made_from(loc, branch, decision, progress):
    found = gated(loc, branch)
    record = found.record
    assert (record.decision, record.progress, record.decided_by) == (decision, progress, "gate")
    assert (found.ran, found.reused) == (2 * 24 * 4, 0)
    assert gate_record.read(loc, found.path) == record
    assert (record.candidate, record.against) == (loc.repo.resolve(branch), loc.repo.resolve("main"))
    before, after = (
        evaluation.read_record(evidence.read(loc, path) or b"", path) for path in record.evaluations
    )
    assert (before.key.experiences, after.key.experiences) == (record.baseline, record.experiences)
    assert before.key.suite_digest == record.suite_digest
    assert record.trials == record.policy.trials == before.key.trials == 4


def test_both_sides_have_the_same_draws_and_nobody_else_has_them(loc):
    record = gated(loc, "train/neither").record
    keys = [evaluation.read_record(evidence.read(loc, path) or b"", path).key for path in record.evaluations]
    sides = [snapshot(loc, ref).policies for ref in ("train/neither", "main")]
    pair = content_id([content_id([[page.name, page.text] for page in pages]) for pages in sides])
    assert keys[0].seeds == keys[1].seeds == tuple(gate_seed(pair, n) for n in range(4))
    others = {seed_of(base, n, training=t) for base in range(9) for n in range(9) for t in (True, False)}
    assert not others & set(keys[0].seeds)
    other = gated(loc, "train/better").record
    assert (
        evaluation.read_record(evidence.read(loc, other.evaluations[0]) or b"", "").key.seeds != keys[0].seeds
    )


def test_asking_again_runs_nothing_and_says_the_same(loc):
    first = gated(loc, "train/worse")
    again = gated(loc, "train/worse", trials=9)  # it is decided
    assert (again.record, again.path, again.ran) == (first.record, first.path, 0)
    assert again.reused == 2 * 24 * 4
    git(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "Code")
    later = gated(loc, "train/worse")
    assert (later.ran, later.record.evaluations) == (0, first.record.evaluations)


def forged(loc: Location, path: str) -> EvaluationRecord:
    """Put an evaluation on record as a push does, by which every attempt passed; return it."""
    honest = evaluation.at_path(loc, path)
    assert honest
    results = tuple(each.model_copy(update={"passed": True, "score": 1.0}) for each in honest.results)
    record = honest.model_copy(update={"results": results, "fresh": 5})
    record = EvaluationRecord.model_validate(record.model_dump())
    file = evidence.json_file(evaluation.record_path(record), record.model_dump(mode="json"))
    evidence.write(loc, [file], "Forge")
    return record


@pytest.mark.parametrize("how", ["hold", "sign", "setting"])
def test_where_somebody_stands_for_the_figures_nobody_elses_are_used(loc, how, monkeypatch):
    first = gated(loc, "train/worse").record
    forged(loc, first.evaluations[1])
    assert gated(loc, "train/worse").record.decision == "accept"  # as it says on record
    own = loc.repo.common_dir / f"xpstore.measured-{loc.config.id}"
    own.unlink()
    signed: list[str] = []
    monkeypatch.setattr(gate_signature, "sign", lambda _loc, path, _data: signed.append(path))
    if how != "hold":
        name = {"sign": gate_signature.SETTING, "setting": measured.SETTING}[how]
        git(loc.repo.place, "config", name, "true")
    found = gated(loc, "train/worse", is_own=how == "hold")
    assert (found.record.decision, found.ran, found.reused) == ("reject", 2 * 24 * 4, 0)
    candidate = evaluation.at_path(loc, found.record.evaluations[1])
    assert candidate
    # what was found before, just so, needs no second record
    assert found.record.evaluations == first.evaluations
    again = gated(loc, "train/worse", is_own=how == "hold")
    assert (again.record, again.ran) == (found.record, 0)
    assert signed == ([found.path] * 2 if how == "sign" else [])


def test_what_differs_from_the_record_is_the_next_repetition(loc):
    first = gated(loc, "train/worse").record
    forged(loc, first.evaluations[1])
    root = Path(loc.repo.place)
    tip = git(root, "rev-parse", "xp/evidence")
    git(root, "read-tree", tip)
    git(root, "rm", "-q", "--cached", first.evaluations[1])
    git(
        root,
        "update-ref",
        "refs/heads/xp/evidence",
        git(root, "commit-tree", "-m", "x", git(root, "write-tree")),
    )
    git(root, "read-tree", "HEAD")
    (loc.repo.common_dir / f"xpstore.measured-{loc.config.id}").unlink()
    found = gated(Location.find(root), "train/worse", is_own=True)
    record = evaluation.at_path(Location.find(root), found.record.evaluations[1])
    assert record
    assert (found.record.decision, record.fresh) == ("reject", 6)


def test_files_that_only_look_like_decisions_stop_nobody(loc):
    first = gated(loc, "train/worse").record
    fake = first.model_copy(update={"evaluations": ("README", "rollouts/aa/none.json")})
    files = [
        gate_record.as_file(fake),
        evidence.json_file("gates/aa/poison.json", {"experiences": first.experiences}),
        evidence.json_file("gates/aa/0123.json", first.model_dump(mode="json")),
    ]
    evidence.write(loc, files, "Poison")
    assert gated(loc, "train/worse").record == first


def test_an_open_question_may_be_asked_with_more_trials_and_has_less_of_alpha(loc):
    settle(Path(loc.repo.place), margin=0.001)
    first = gated(loc, "train/neither")
    assert (first.record.decision, first.record.look) == ("inconclusive", 1)
    assert first.decision.needed is not None
    second = gated(loc, "train/neither", trials=6)
    assert (second.record.trials, second.record.look) == (6, 2)
    fewer = gated(loc, "train/neither", trials=2)
    assert (fewer.record, fewer.ran) == (second.record, 0)
    settle(Path(loc.repo.place), margin=0.5)
    assert gated(loc, "train/neither").record.decision == "accept"


def test_a_person_may_accept_what_is_left_open_and_is_named(loc):
    settle(Path(loc.repo.place), margin=0.001)
    found = gated(loc, "train/neither", accept_inconclusive=True)
    assert (found.record.decision, found.record.decided_by) == ("accept", "person: Pat")
    assert found.record.reason.startswith("Pat accepts it: ")
    assert found.decision.decision == "inconclusive"
    worse = gated(loc, "train/worse", accept_inconclusive=True)
    assert (worse.record.decision, worse.record.decided_by) == ("reject", "gate")


def test_the_same_experiences_need_no_measuring(loc):
    git(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "Code")
    found = gated(loc, "main", "main~1")
    assert (found.record.decision, found.record.trials, found.ran) == ("accept", 0, 0)
    assert found.record.evaluations == ("", "")


def test_the_rules_are_those_of_what_it_lands_on(loc):
    root = Path(loc.repo.place)
    git(root, "checkout", "-q", "train/worse")
    (root / "cases/gate.jsonl").write_text("")
    (root / "xp.toml").write_text((root / "xp.toml").read_text().replace("margin = 0.1", "margin = 1.0"))
    git(root, "commit", "-q", "-am", "Make it easy")
    found = gated(Location.find(root), "train/worse")
    assert (found.record.decision, found.record.policy.margin) == ("reject", 0.1)


def test_trials_that_could_not_be_scored_are_tried_again_and_counted(loc, monkeypatch):
    usual, calls = ScriptedExecutor._one, {}

    async def flaky(self, case, policy_set, context):
        key = (case.name, context.seed, policy_set.snapshot_id)
        calls[key] = calls.get(key, 0) + 1
        if case.name == "g1" and calls[key] <= failing:
            raise RuntimeError("no network")
        return await usual(self, case, policy_set, context)

    monkeypatch.setattr(ScriptedExecutor, "_one", flaky)
    failing = 2
    found = gated(loc, "train/neither")
    assert found.decision.figures is not None
    assert (found.decision.figures.unscored, found.decision.decision) == (0, "accept")
    assert max(calls.values()) == 3
    assert found.ran == 2 * (24 * 4 + 4 + 4)
    calls.clear()
    failing = 9
    lost = gated(loc, "train/better")
    assert lost.decision.figures is not None
    assert lost.decision.figures.unscored == 4
    settle(Path(loc.repo.place), max_unscored=0.01)
    cannot = gated(loc, "train/better")
    assert (cannot.decision.figures, cannot.record.decision) == (None, "inconclusive")
    assert "4 of 96 trials could not be scored" in cannot.record.reason


def test_a_lesson_that_quotes_a_case_is_refused_before_anything_is_run(loc):
    leaky = upsert("leaky", page("leaky", "Do well on g23."))
    cases = Path(loc.repo.place) / "cases/gate.jsonl"
    cases.write_text(cases.read_text().replace('"g23"', '"order-g23"'))
    git(cases.parent, "commit", "-q", "-am", "Name a case")
    leaky = upsert("leaky", page("leaky", "Do well on order-g23."))
    commit(loc, [make_plan(loc, leaky, branch="main")], "train/leaky", start="main")
    found = gated(loc, "train/leaky")
    assert (found.record.decision, found.ran) == ("reject", 0)
    assert "order-g23" in found.record.reason
    assert found.record.leaks
    settle(Path(loc.repo.place), leaks="warn")
    assert gated(loc, "train/leaky", "main").ran > 0


def test_where_nothing_can_be_measured_it_says_why(loc):
    root = Path(loc.repo.place)
    assert ungateable(loc, loc.repo.resolve("main")) == ""
    git(root, "mv", "cases/gate.jsonl", "cases/hard.jsonl")
    assert "no cases in cases/gate.jsonl" in _after(loc, margin=0.1)
    assert _after(loc, suite="hard") == ""
    with pytest.raises(UsageError, match=r"no cases in cases/other\.jsonl"):
        _after(loc, suite="other")
    with pytest.raises(UsageError, match=r"no cases in cases/other\.jsonl"):
        gated(loc, "train/better")
    (root / "cases/gate.jsonl").symlink_to("hard.jsonl")
    git(root, "add", "cases")
    with pytest.raises(UsageError, match=r"no cases in cases/gate\.jsonl"):
        _after(loc, margin=0.1)
    (root / "xp.toml").write_text('format = 1\nid = "' + loc.config.id + '"\n')
    git(root, "commit", "-q", "-am", "No world")
    assert "no environment" in ungateable(Location.find(root), loc.repo.resolve("main"))


def _after(loc: Location, **keys: object) -> str:
    settle(Path(loc.repo.place), **keys)
    return ungateable(Location.find(Path(loc.repo.place)), loc.repo.resolve("main"))


def test_bytes_that_no_agent_is_given_draw_nothing_anew(loc, monkeypatch):
    root = Path(loc.repo.place)
    settle(root, margin=0.001)
    first = gated(loc, "train/neither").record
    git(root, "checkout", "-q", "-b", "train/again", "train/neither")
    (root / "experiences/note.txt").write_text("1\n")
    (root / "experiences/idea.md").write_text("---\nname: idea\nstatus: draft\n---\n\n- Try it.\n")
    (root / "experiences/other.md").chmod(0o755)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Try again")
    monkeypatch.setattr(ScriptedExecutor, "_one", None)  # no trial is run
    again = gated(loc, "train/again")
    assert again.record.experiences != first.experiences
    assert (again.record.reason, again.record.look, again.ran) == (first.reason, 1, 0)
    before, after = (evaluation.at_path(loc, path) for path in again.record.evaluations)
    assert before
    assert after
    assert (before.key.experiences, after.key.experiences) == (
        again.record.baseline,
        again.record.experiences,
    )
    monkeypatch.undo()
    monkeypatch.syspath_prepend(str(root.parent / "site"))
    assert gated(loc, "train/again", trials=6).record.look == 2


@pytest.mark.parametrize("trials", [4, 6])
def test_what_others_record_meanwhile_counts_and_not_a_draw_of_ones_own(loc, monkeypatch, trials):
    settle(Path(loc.repo.place), margin=0.001)
    usual, others = measuring.score_trials, []

    async def late(*args, **options):
        if not others:
            others.append(None)
            others.append(await asyncio.to_thread(gated, loc, "train/neither", trials=trials))
            results, failures = await usual(*args, **options)
            return [r.model_copy(update={"passed": not r.passed}) for r in results], failures
        return await usual(*args, **options)

    monkeypatch.setattr(measuring, "score_trials", late)
    mine = gated(loc, "train/neither")
    assert (mine.record, mine.path) == (others[1].record, others[1].path)
    assert (mine.record.trials, mine.record.look) == (trials, 1)

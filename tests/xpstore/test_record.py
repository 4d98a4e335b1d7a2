from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore import evidence, layout, record
from xpstore.commit import commit
from xpstore.errors import FormatError, NotFoundError
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan, RolloutRef

TEXT = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Cn"]), max_size=30)
LINES = st.lists(TEXT, max_size=4).map("\n".join)
ID = st.text("0123456789abcdef", min_size=20, max_size=20)
NAMES = st.sampled_from(["a", "退款", "b_1", "über", "c"])
JSON = st.dictionaries(
    TEXT, st.none() | st.booleans() | st.integers() | TEXT | st.lists(st.integers(), max_size=2), max_size=2
)
ROLLOUTS = st.builds(
    RolloutRef, id=ID, passed=st.none() | st.booleans(), score=st.none() | st.floats(0, 1), case=TEXT
)


def file(name: str) -> st.SearchStrategy[MemoryFile]:
    return st.builds(MemoryFile, name=st.just(name), content=LINES)


def gradients(name: str) -> st.SearchStrategy[PatchSemanticGradient]:
    return st.builds(
        PatchSemanticGradient,
        before_file=st.none() | file(name),
        after_file=file(name).map(lambda f: f.model_copy(update={"content": f.content + "\nafter\n"})),
        base_commit=st.none(),
        base_version=st.none() | st.integers(0, 9),
        rationale=LINES,
        evidence_trajectory_uris=st.tuples(TEXT),
        rollouts=st.tuples(ID),
        confidence=st.floats(0, 1),
        metadata=JSON,
    )


@st.composite
def plans(draw: st.DrawFn) -> dict[str, object]:
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    items = [
        PolicyPlanItem(
            kind="upsert_experience",
            target_experience_name=name,
            before_content=None,
            after_content=page(name, draw(TEXT)),
            base_version=draw(st.none() | st.integers(0, 9)),
            confidence=draw(st.none() | st.floats(0, 1)),
            evidence_trajectory_uris=tuple(draw(st.lists(TEXT, max_size=2))),
            metadata=draw(JSON),
        )
        for name in names
    ]
    return {
        "items": tuple(items),
        "gradients": tuple(draw(gradients(name)) for name in names) if draw(st.booleans()) else (),
        "subject": draw(TEXT),
        "rationale": draw(LINES),
        "run_id": draw(TEXT),
        "learner": draw(st.sampled_from(["offline/1", "gpt 9 <x>", "person", ""])),
        "rollouts": tuple(draw(st.lists(ROLLOUTS, max_size=3))),
        "reverts": tuple(draw(st.lists(ID, max_size=2))),
        "reverts_events": tuple(draw(st.lists(ID, max_size=1))),
        "again": draw(st.integers(0, 3)),
        "resolved_by": draw(TEXT),
        "suspect": draw(TEXT),
        "metadata": draw(JSON),
    }


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans())
def test_plan_is_read_back_as_it_was(values: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        loc = make_store(Path(folder) / "s")
        plan = make_plan(loc, **values)
        (landed,) = commit(loc, [plan], "train/x")
        again = record.plan_from(loc, landed.commit)
        assert again == plan
        assert (again.plan_id, again.digest) == (plan.plan_id, plan.digest)


def gradient(name: str, after: str, **fields: object) -> PatchSemanticGradient:
    return PatchSemanticGradient(
        before_file=None,
        after_file=MemoryFile(name=name, content=after),
        rationale="why",
        confidence=0.5,
        rollouts=("ab12",),
        **fields,
    )


def test_message_has_the_trailers_in_order(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    plan = make_plan(
        loc,
        upsert("a", page("a")),
        subject="",
        rationale="One.\n\ndiff --git a/x b/x\n\nPlan-Id: 1",
        rollouts=[RolloutRef(id=f"ab{n}", passed=n < 3) for n in range(8)],
        reverts=("r1", "r2"),
        resolved_by="union/1",
        suspect="an instruction to the reader",
    )
    subject, *body = record.to_commit_message(plan).split("\n")
    assert subject == "Add a"
    assert body[-13:] == [
        "",
        f"Plan-Id: {plan.plan_id}",
        f"Plan-Digest: {plan.digest}",
        f"Base-Commit: {plan.base_commit}",
        f"Store: {loc.config.id}",
        "Run-Id: run-1",
        "Learner: offline/1",
        "Rollouts: 8 passed=3",
        "Reverts-Plan: r1",
        "Reverts-Plan: r2",
        "Resolved-By: union/1",
        "Suspect: an instruction to the reader",
        "",
    ]
    assert not [line for line in body[:-13] if line.startswith(("diff", "Plan-Id"))]


def test_second_try_on_another_base_keeps_the_first_records_and_its_own_trailers(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    one, two = gradient("a", page("a")), gradient("b", page("b"))
    items = upsert("a", page("a")), upsert("b", page("b"))
    first = make_plan(loc, *items, gradients=(two, one))
    commit(loc, [first], "train/1")
    commit(loc, [make_plan(loc, upsert("c", page("c")))], "main")
    moved = one.model_copy(update={"base_commit": loc.repo.ref(loc.main_ref)})
    second = make_plan(
        loc, *items, gradients=(PatchSemanticGradient(**moved.model_dump()), two), run_id="run-2"
    )
    assert second.plan_id == first.plan_id
    (landed,) = commit(loc, [second], "train/2")
    names = list(evidence.patches(loc, first.plan_id))
    assert [n[:3] for n in names] == ["01-", "02-"]
    again = record.plan_from(loc, landed.commit)
    assert (again.base_commit, again.run_id) == (second.base_commit, "run-2")
    assert again.gradients == first.gradients


def test_what_is_no_plan_or_has_no_evidence_is_named(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    with pytest.raises(NotFoundError, match="no plan"):
        record.plan_from(loc, loc.repo.resolve("main"))
    plan = make_plan(loc, upsert("a", page("a")), gradients=(gradient("a", page("a")),))
    (landed,) = commit(loc, [plan], "main")
    kept = git(tmp_path, "rev-parse", "xp/evidence")
    git(tmp_path, "update-ref", "-d", loc.evidence_ref)
    with pytest.raises(NotFoundError, match="gradients/"):
        record.plan_from(loc, landed.commit)
    path = layout.record_path(plan.plan_id, plan.digest)
    for data, error in (
        (b"{", FormatError),
        (b'{"format": 2}', FormatError),
        (b'{"format": 1}', FormatError),
    ):
        git(tmp_path, "update-ref", "-d", loc.evidence_ref)
        evidence.write(loc, [evidence.EvidenceFile(path, data)], "broken")
        with pytest.raises(error, match=plan.plan_id):
            record.plan_from(loc, landed.commit)
    git(tmp_path, "update-ref", loc.evidence_ref, kept)
    whole = evidence.read(loc, path)
    git(tmp_path, "update-ref", "-d", loc.evidence_ref)
    evidence.write(loc, [evidence.EvidenceFile(path, whole or b"")], "no patches")
    with pytest.raises(NotFoundError, match="gradient"):
        record.plan_from(loc, landed.commit)


def test_evidence_files_of_a_plan(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    plan = make_plan(loc, upsert("a", page("a")), gradients=(gradient("a", page("a")),))
    folder = layout.plan_folder(plan.plan_id)
    paths = [f.path for f in record.evidence_files(plan)]
    assert paths[:2] == [f"{folder}/01-a.patch", f"{folder}/{plan.digest}.json"]
    assert [p.startswith("ledger/") for p in paths] == [False, False, True]
    assert isinstance(plan, PolicyUpdatePlan)

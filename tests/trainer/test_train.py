from __future__ import annotations

import asyncio
import json

import pytest

from tests.builders import every_object, git, identify
from tests.returns_desk import records
from trainer.train import train_files
from xpstore import evidence
from xpstore.errors import NotAStoreError, UsageError
from xpstore.init import init
from xpstore.location import Location

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture(scope="module")
def rows():
    return list(records(7))  # as few cases as teach something


@pytest.fixture
def store(tmp_path):
    init(tmp_path / "s")
    return tmp_path / "s"


def write(path, rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


def train(store, *files, **options):
    return asyncio.run(train_files(list(files), location=store, **options))


def test_files_in_commits_out(store, tmp_path, rows):
    seen = []
    report = train(
        store,
        write(tmp_path / "all.jsonl", rows),
        progress=lambda stage, done, total: seen.append((stage, done == total)),
    )
    assert report.exit_code == 0
    assert report.rollouts == len(rows)
    assert report.branch == f"train/{report.run_id}"
    assert git(store, "log", "--format=%H", f"main..{report.branch}").split() == [
        p.commit for p in report.plans[::-1]
    ]
    assert {"redact", "analyze", "estimate"} <= {stage for stage, end in seen if end}
    cited = {e["event"] for ledger in _ledgers(store) for e in ledger}
    assert cited == {"received", "analysed", "planned", "nothing"}
    again = train(store, tmp_path / "all.jsonl")
    assert (again.plans, len(again.already)) == ((), len(rows))


def _ledgers(store):
    loc = Location.find(store)
    paths = evidence.listing(loc, "ledger")
    return [[json.loads(evidence.read(loc, p))] for p in paths]


def test_a_dry_run_says_what_would_be_and_writes_nothing(store, tmp_path, rows):
    before = git(store, "for-each-ref")
    file = write(tmp_path / "all.jsonl", rows)
    report = train(store, file, dry_run=True)
    assert report.plans
    assert all(p.commit == "" for p in report.plans)
    assert git(store, "for-each-ref") == before
    real = train(store, file)
    assert [p.plan_id for p in real.plans] != []
    assert [p.subject for p in real.plans] == [p.subject for p in report.plans]


def test_secrets_are_in_no_object(store, tmp_path, rows):
    leak = {"role": "user", "content": f"my token is {SECRET}"}
    told = [{**r, "messages": [*r["messages"], leak]} for r in rows[:4]]
    train(store, write(tmp_path / "told.jsonl", told))
    everything = every_object(store)
    assert b"my token is" in everything
    assert SECRET.encode() not in everything


def test_broken_records_are_reported_and_the_rest_is_learned_from(store, tmp_path, rows):
    file = write(tmp_path / "some.jsonl", rows[:3])
    file.write_text(file.read_text() + "{not json\n", encoding="utf-8")
    report = train(store, file)
    assert report.rollouts == 3
    assert [(p["file"], p["line"]) for p in report.problems] == [(str(file), 4)]
    assert report.problems[0]["error"]
    assert len(report.nothing) == 3
    assert all(report.nothing.values())


def test_no_store_and_no_rollouts_are_errors_with_hints(tmp_path, store, rows):
    file = write(tmp_path / "some.jsonl", rows[:1])
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(NotAStoreError):
        train(tmp_path / "elsewhere", file)
    with pytest.raises(UsageError) as caught:
        train(store, write(tmp_path / "empty.jsonl", []))
    assert caught.value.hint


@pytest.mark.parametrize("branch", ["HEAD", "-x", "a..b"])
def test_a_branch_that_git_would_not_make_is_refused_before_anything_is_kept(store, tmp_path, rows, branch):
    before = git(store, "for-each-ref")
    with pytest.raises(UsageError, match="is no name for a branch"):
        train(store, write(tmp_path / "few.jsonl", rows[:4]), branch=branch)
    assert git(store, "for-each-ref") == before


def test_a_plan_names_the_pages_that_no_agent_reads(store, tmp_path, rows):
    write(tmp_path / "all.jsonl", rows)
    names = {name for p in train(store, tmp_path / "all.jsonl", dry_run=True).plans for name in p.items}
    archived = min(names)
    page = store / "experiences" / f"{archived}.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text("---\nstatus: archived\n---\n\n- Kept for the record.\n", encoding="utf-8")
    git(store, "add", "experiences")
    identify(store)
    git(store, "commit", "-q", "-m", "Archive a page")
    plans = train(store, tmp_path / "all.jsonl", dry_run=True).plans
    assert {p.unserved.get(archived) for p in plans if archived in p.items} == {"archived"}
    assert not any(p.unserved for p in plans if archived not in p.items)

from __future__ import annotations

import asyncio

from tests.builders import git, page
from trainer.bisect.outcome import outcome, preview
from trainer.bisect.run import search
from trainer.bisect.search import Question, prepare
from trainer.store_door import StoreDoor
from xpstore.location import Location


def ask(loc, **fields):
    found = prepare(loc, Question("good", "main", **fields))

    async def run():
        async with StoreDoor(loc.repo.place) as door:
            return outcome(found, *await search(door, found, lambda _: None))

    return asyncio.run(run())


def test_what_was_found_has_plan_evidence_and_what_to_type(broken):
    end = ask(broken)
    assert (end.state, end.exit_code, end.suspects, len(end.culprit)) == ("found", 0, 8, 1)
    (one,) = end.culprit
    assert (one.subject, one.learner, one.rollouts) == ("Update 5", "offline/1", "1 passed=1")
    assert end.revert == f"revert {one.plans[0]}"
    (fall,) = end.fell
    assert fall.name == "c"
    assert fall.before[0] / fall.before[1] > 0.9
    assert fall.after[0] / fall.after[1] < 0.5
    assert end.confirmation.bet >= end.confirmation.needed
    assert len(end.likeliest) == 5


def test_a_person_is_undone_by_git(broken):
    where = broken.repo.place
    (where / "experiences" / "a.md").unlink()
    (where / "experiences" / "more.md").write_text(page("more"))
    git(where, "add", "-A")
    git(where, "commit", "-qm", "Tidy up")
    end = ask(Location.find(where), cases=("a",))
    (one,) = end.culprit
    assert (one.plans, one.learner, end.revert) == ((), "", f"revert {one.commit[:12]}")


def test_no_difference_names_nobody(broken):
    end = ask(broken, cases=("a",))
    assert (end.state, end.exit_code, end.culprit, end.likeliest, end.revert) == ("same", 1, (), (), "")
    assert end.same > 0.9


def test_a_preview_runs_nothing(broken):
    before = git(broken.repo.place, "for-each-ref")
    seen = preview(prepare(broken, Question("good", "main")))
    assert (seen.next.aim, seen.next.cases, seen.suspects) == ("ends", ("a", "b", "c", "d"), 8)
    assert git(broken.repo.place, "for-each-ref") == before
    ask(broken)
    assert preview(prepare(broken, Question("good", "main"))).next is None

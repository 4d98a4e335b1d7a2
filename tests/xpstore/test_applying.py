from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.builders import git, make_plan, make_store, page, texts, upsert
from tests.scripted import Scripted, keeping
from xpstore import applying, kept, lock, record
from xpstore.by_hand import TakeSide
from xpstore.commit import commit
from xpstore.errors import Conflict, ConflictError, RepositoryError
from xpstore.landing import land
from xpstore.resolver import Declined
from xpstore.verify import verify

FIRST = page("a", "Be short.")
ALWAYS, NEVER = (page("a", "Be short.", lesson) for lesson in ("Always ask.", "Never ask."))


@pytest.fixture
def loc(tmp_path):
    found = make_store(tmp_path / "s")
    commit(found, [make_plan(found, upsert("a", FIRST), rollouts=())], "main")
    return found


def outrun(loc, *more, **fields):
    """Return a plan for page a (and more) that main contradicts by now."""
    plan = make_plan(loc, upsert("a", NEVER, FIRST), *more, rollouts=(), **fields)
    commit(loc, [make_plan(loc, upsert("a", ALWAYS, FIRST), rollouts=())], "main")
    return plan


def test_a_model_decides_what_plan_and_branch_changed_and_the_record_names_it(loc):
    plan = outrun(loc)
    model = Scripted([keeping("- Never ask.")])
    (landed,) = applying.apply(loc, [plan], "main", resolver=model)
    assert texts(loc, "main") == {"a": NEVER}
    read = record.plan_from(loc, landed.commit)
    assert (read.plan_id, read.resolved_by) == (plan.plan_id, "scripted/1")
    assert [m.verdict for m in read.merges] == ["VERIFIED"]
    assert {f.problems for f in verify(loc, "main")} == {()}
    assert kept.waiting(loc) == ()


def test_what_both_reworded_is_decided_offline_by_keeping_both(loc):
    nested = [page("a", f"Be short.\n  - {word}") for word in ("Now", "Soon", "Later")]
    commit(loc, [make_plan(loc, upsert("a", nested[0], FIRST), rollouts=())], "main")
    plan = make_plan(loc, upsert("a", nested[1], nested[0]), rollouts=())
    commit(loc, [make_plan(loc, upsert("a", nested[2], nested[0]), rollouts=())], "main")
    (landed,) = applying.apply(loc, [plan], "main")
    assert "Resolved-By: offline/1" in loc.repo.commit(landed.commit).message
    assert {"  - Soon", "  - Later"} <= set(texts(loc, "main")["a"].split("\n"))
    assert {f.problems for f in verify(loc, "main")} == {()}


def is_free(folder):
    with lock.store_lock(folder, wait=False) as got:
        return got


def test_a_resolver_is_not_asked_under_a_lock_and_only_about_what_is_new(loc):
    plan = outrun(loc)
    asked = []

    class Slow(Scripted):
        def resolve(self, hunks, findings=()):
            with ThreadPoolExecutor(1) as another:
                asked.append(another.submit(is_free, loc.repo.common_dir).result())
            if len(asked) == 1:  # while the model thinks, others write elsewhere, and on the same page
                now = texts(loc, "main")["a"]
                other = make_plan(loc, upsert("a", now + "- Pack it.\n", now), rollouts=())
                commit(loc, [other, make_plan(loc, upsert("b", page("b")), rollouts=())], "main")
            return super().resolve(hunks, findings)

    applying.apply(loc, [plan], "main", resolver=Slow([keeping("- Never ask.")]))
    assert asked == [True]
    assert sorted(texts(loc, "main")["a"].split("\n")) == sorted([*NEVER.split("\n"), "- Pack it."])


def test_a_refused_plan_stays_on_a_branch_and_the_error_says_what_to_type(loc):
    plan = outrun(loc)
    main = git(loc.repo.place, "rev-parse", "main")
    for resolver in (Scripted([Declined("unclear")]), applying.OFFLINE):
        with pytest.raises(ConflictError) as caught:
            applying.apply(loc, [plan], "main", resolver=resolver)
        branch = f"xp/conflict/{plan.plan_id}"
        answer = caught.value.as_json()
        assert (answer["conflicts"], answer["kept"]) == (["a"], [branch])
        assert answer["next"] == [f"xp resolve {branch}"]
        assert f"kept on {branch}" in caught.value.message
        assert f"`xp resolve {branch}`" in caught.value.hint
    assert git(loc.repo.place, "rev-parse", "main") == main
    assert kept.waiting(loc) == (branch,)
    land(loc, branch, merge_page=TakeSide("theirs"))
    assert texts(loc, "main") == {"a": NEVER}
    assert kept.waiting(loc) == ()


def test_all_plans_of_a_refused_group_are_kept_also_those_that_build_on_one_another(loc):
    first = make_plan(loc, upsert("b", page("b")), rollouts=())
    second = make_plan(loc, upsert("b", page("b", "Look.", "Leap."), page("b")), rollouts=())
    bad = outrun(loc)
    with pytest.raises(ConflictError) as caught:
        applying.apply(loc, [first, second, bad], "main")
    assert caught.value.kept == tuple(f"xp/conflict/{p.plan_id}" for p in (first, second, bad))
    assert texts(loc, caught.value.kept[1])["b"] == page("b", "Look.", "Leap.")
    assert "b" not in texts(loc, "main")


def test_nothing_is_kept_where_the_caller_plans_again(loc):
    with pytest.raises(ConflictError) as caught:
        applying.apply(loc, [outrun(loc)], "main", plans_again=True)
    assert (caught.value.kept, kept.waiting(loc)) == ((), ())


def test_a_plan_that_makes_a_page_which_it_should_have_seen_is_refused(loc):
    stale = make_plan(loc, upsert("a", page("a", "Look twice.")), rollouts=())
    with pytest.raises(ConflictError):
        applying.apply(loc, [stale], "main", plans_again=True)


def test_a_plan_that_never_has_its_turn_is_kept(loc, monkeypatch):
    plan = make_plan(loc, upsert("b", page("b")), rollouts=())

    def busy(*_, **__):
        raise RepositoryError("busy")

    monkeypatch.setattr(applying, "commit", busy)
    with pytest.raises(RepositoryError) as caught:
        applying.apply(loc, [plan], "main")
    assert f"xp/conflict/{plan.plan_id}" in caught.value.hint
    assert kept.waiting(loc) == (f"xp/conflict/{plan.plan_id}",)


def test_a_branch_that_moves_with_every_answer_is_given_up(loc, monkeypatch):
    monkeypatch.setattr(applying, "ROUNDS", 2)
    monkeypatch.setattr(applying, "PAUSE", 0.0)
    plan = make_plan(loc, upsert("a", NEVER, FIRST), rollouts=())

    def moving(_loc, plans, _branch, **_):
        (item,) = plans[0].items
        ours = (item.before_content or "") + f"- Pack it {len(plans[0].merges)} times.\n"
        raise ConflictError("moved", (Conflict("a", item.before_content, ours, item.after_content),))

    monkeypatch.setattr(applying, "commit", moving)
    with pytest.raises(RepositoryError, match="main moved 2 times") as caught:
        applying.apply(loc, [plan], "main")
    assert kept.waiting(loc) == (f"xp/conflict/{plan.plan_id}",)
    assert "xp/conflict/" in caught.value.hint

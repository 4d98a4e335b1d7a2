"""Opposite commands never end up side by side, whoever merges: merge, resolver, commit, landing, undo."""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.builders import make_plan, make_store, page, texts, upsert
from xpstore import applying, polarity
from xpstore.commit import commit
from xpstore.document import Document
from xpstore.errors import ConflictError, RefusedError
from xpstore.landing import land
from xpstore.merge import merge
from xpstore.resolution import Asking, resolve
from xpstore.resolver import Claim, OfflineResolver, Resolution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.conflict import Hunk
    from xpstore.location import Location

CONDITIONS = ("the fare is basic", "the order is late", "")
TOOLS = ("cancel_order", "change_seat")
SECTIONS = ("Approach", "Reflect")


def rule(condition: str, tool: str, *, is_negative: bool) -> str:
    if not condition:
        return f"- {'Never' if is_negative else 'Always'} call `{tool}` first."
    return f"- IF {condition} DO {'NOT ' if is_negative else ''}call `{tool}`"


RULES = st.builds(
    lambda condition, tool, is_negative: rule(condition, tool, is_negative=is_negative),
    st.sampled_from(CONDITIONS),
    st.sampled_from(TOOLS),
    st.booleans(),
)
PLACED = st.tuples(st.sampled_from(SECTIONS), RULES)


def contradicts(text: str | None) -> bool:
    statements = [s.text for s in Document.parse(text or "").statements()]
    return any(True for _ in polarity.contradictions(statements))


def file_of(lessons: Sequence[tuple[str, str]]) -> str:
    kept: list[tuple[str, str]] = []
    for section, lesson in dict.fromkeys(lessons):
        if not contradicts("\n".join(text for _, text in (*kept, (section, lesson)))):
            kept.append((section, lesson))
    sections = [(name, ["Be short.", *(t for s, t in kept if s == name)]) for name in SECTIONS]
    return Document.build({"name": "a"}, sections).text


FILES = st.lists(PLACED, max_size=4).map(file_of)


class KeepsBoth:
    """A model that wants to keep all, whatever it says; its account is as good as it gets."""

    name = "keeps-both/1"
    model = "a model"

    def resolve(self, hunks: Sequence[Hunk], findings: Sequence[str] = ()) -> Resolution:
        del findings
        decisions = tuple(tuple(s.text for s in hunk.statements if s.sides != {"base"}) for hunk in hunks)
        claims = [
            Claim(s.number, "kept") if s.text in decided else Claim(s.number, "dropped", reason="both did")
            for hunk, decided in zip(hunks, decisions, strict=True)
            for s in hunk.statements
        ]
        return Resolution(decisions, tuple(claims))


@settings(max_examples=100, deadline=None)
@given(st.none() | FILES, FILES, FILES)
def test_neither_a_merge_nor_a_resolver_puts_them_together(base, ours, theirs):
    assert not any(contradicts(text) for text in (base, ours, theirs))
    results = [merge(base, ours, theirs)]
    results += [resolve(base, ours, theirs, who).as_merge for who in (OfflineResolver(), KeepsBoth())]
    for result in results:
        assert result.verdict == "REFUSED" or not contradicts(result.text)


@pytest.fixture(scope="module")
def loc(tmp_path_factory) -> Location:
    return make_store(tmp_path_factory.mktemp("store") / "s")


_NAMES = itertools.count()


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(FILES, FILES, FILES, st.sampled_from([OfflineResolver(), KeepsBoth()]))
def test_neither_a_commit_nor_a_landing_puts_them_together(loc, base, ours, theirs, resolver):
    assume(base not in (ours, theirs))
    number = next(_NAMES)
    by_commit, by_landing = f"commit-{number}", f"land-{number}"
    first = [upsert(name, base) for name in (by_commit, by_landing)]
    commit(loc, [make_plan(loc, *first, rollouts=())], "main")
    late = make_plan(loc, upsert(by_commit, theirs, base), rollouts=())
    branch = f"train/{number}"
    commit(loc, [make_plan(loc, upsert(by_landing, theirs, base), rollouts=())], branch)
    commit(
        loc,
        [make_plan(loc, *(upsert(name, ours, base) for name in (by_commit, by_landing)), rollouts=())],
        "main",
    )
    with suppress(ConflictError):
        applying.apply(loc, [late], "main", resolver=resolver)
    with suppress(ConflictError, RefusedError):
        land(loc, branch, merge_page=Asking(resolver))
    now = texts(loc, "main")
    assert not contradicts(now[by_commit])
    assert not contradicts(now[by_landing])


def test_a_plan_may_not_bring_them_together_by_itself_where_neither_side_had_both(loc):
    """Two plans of one group, each of them right, exclude each other on one page."""
    first = page("group", "Be short.")
    commit(loc, [make_plan(loc, upsert("group", first), rollouts=())], "main")
    pair = [rule("the fare is basic", "cancel_order", is_negative=n)[2:] for n in (True, False)]
    plans = [make_plan(loc, upsert("group", page("group", "Be short.", r), first), rollouts=()) for r in pair]
    with pytest.raises(ConflictError):
        applying.apply(loc, plans, "main")
    assert texts(loc, "main")["group"] == first

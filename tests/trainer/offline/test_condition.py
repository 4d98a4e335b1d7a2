from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.offline.condition import Atom, all_of, condition_words, parse_condition
from trainer.offline.objects import Ref, Term

names = st.from_regex(r"[a-z][a-z_.]{0,8}[a-z]", fullmatch=True)
refs = (
    st.builds(Ref, names, st.just(()))
    | st.builds(Ref, names, st.tuples(names))
    | st.builds(Ref, names, st.tuples(names, names))
)
terms = st.builds(Term, st.sampled_from(["value", "count", "age"]), refs)
numbers = st.integers(-10_000, 10_000).map(float) | st.sampled_from([0.5, 2.25, 1e12])
objects = st.builds(Ref, names, st.tuples(names))
atoms = st.one_of(
    st.builds(Atom, st.just("is"), terms, names | st.booleans(), st.booleans()),
    st.builds(Atom, st.just("more"), terms, numbers | terms, st.booleans()),
    st.builds(
        Atom, st.just("change"), st.builds(Term, st.just("change"), objects), st.just(True), st.booleans()
    ),
    st.builds(
        Atom,
        st.just("among"),
        st.builds(Term, names.map("among:{}".format), objects),
        st.just(True),
        st.booleans(),
    ),
)
TIER = Term("value", Ref("tier", ("customer_id",)))
AMOUNT = Term("value", Ref("amount"))
TOTAL = Term("value", Ref("total", ("order_id",)))


@given(st.lists(atoms, min_size=1, max_size=3).map(tuple))
@settings(max_examples=60, deadline=None)
def test_conditions_are_read_back(condition: tuple[Atom, ...]) -> None:
    assert parse_condition(condition_words(condition)) == condition


@pytest.mark.parametrize(
    ("atom", "held"),
    [
        (Atom("is", TIER, "gold"), True),
        (Atom("is", TIER, "gold", positive=False), False),
        (Atom("is", TIER, "basic"), False),
        (Atom("is", Term("value", Ref("vip")), True), None),
        (Atom("more", AMOUNT, 250.0), True),
        (Atom("more", AMOUNT, 300.0, positive=False), True),
        (Atom("more", AMOUNT, TOTAL), False),
        (Atom("more", AMOUNT, Term("value", Ref("limit"))), None),
        (Atom("more", TIER, 1.0), None),
    ],
)
def test_atoms_hold_or_fail_or_are_open(atom: Atom, held: object) -> None:
    assert atom.holds({TIER: ("gold",), AMOUNT: (300.0,), TOTAL: (400.0,)}) is held


def test_one_that_fails_decides() -> None:
    assert all_of([True, None, False]) is False
    assert all_of([True, None]) is None
    assert all_of([True, True]) is True


@pytest.mark.parametrize(
    "text", ["", "the moon is `full`", "the argument `a` differs from the `b` of `k`", "x and y"]
)
def test_other_text_is_no_condition(text: str) -> None:
    assert parse_condition(text) is None

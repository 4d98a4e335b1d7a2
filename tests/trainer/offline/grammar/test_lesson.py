from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trainer.offline.test_condition import atoms
from trainer.offline.grammar import (
    FAMILIES,
    ORDER,
    Avoid,
    CallBefore,
    Confirm,
    DoCall,
    Lesson,
    LookUp,
    MakeSure,
    NoRepeat,
    NotAfter,
    Once,
    ReadAll,
    Recover,
    Refused,
    SeeThrough,
    TakeFrom,
    parse_lesson,
)

names = st.from_regex(r"[a-z][a-z_.]{0,8}[a-z]", fullmatch=True)
errors = st.from_regex(r"[a-z][a-z ,<>:]{0,20}[a-z]", fullmatch=True)
conditions = st.lists(atoms, min_size=1, max_size=2).map(tuple)
lessons = st.one_of(
    st.builds(CallBefore, names, names),
    st.builds(NotAfter, names, names),
    st.builds(Once, names, names),
    st.builds(DoCall, names),
    st.builds(ReadAll, names, names, names, names),
    st.builds(Avoid, names, conditions),
    st.builds(Refused, names, conditions, errors),
    st.builds(Recover, names, errors, names, names),
    st.builds(Recover, names, errors, st.just(""), names),
    st.builds(Recover, names, errors, names, st.just("")),
    st.builds(NoRepeat, names),
    st.builds(TakeFrom, names, names),
    st.builds(LookUp, names, names, names),
    st.builds(Confirm, names),
    st.builds(MakeSure, names, names),
    st.builds(SeeThrough, names | st.just("")),
)


@given(lessons)
@settings(max_examples=100, deadline=None)
def test_a_lesson_is_read_back_from_its_sentence(lesson: Lesson) -> None:
    assert parse_lesson(lesson.sentence()) == lesson
    assert lesson.sentence().isprintable()


@pytest.mark.parametrize(
    "text", ["", "Be kind.", "Do not call `x` when it rains.", "Call `a b` before you call `c`."]
)
def test_other_sentences_are_no_lessons(text: str) -> None:
    assert parse_lesson(text) is None


def test_families_have_names_and_an_order() -> None:
    assert sorted(ORDER.values()) == list(range(len(FAMILIES)))

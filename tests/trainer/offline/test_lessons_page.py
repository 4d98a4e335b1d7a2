"""LESSONS.md shows the grammar: every sentence in it is of the grammar, and every family has one."""

from __future__ import annotations

from pathlib import Path

import trainer.offline
from trainer.offline.grammar import FAMILIES, parse_lesson
from xpstore.document import Document

TEXT = Path(trainer.offline.__file__).with_name("LESSONS.md").read_text(encoding="utf-8")


def test_every_sentence_of_the_page_is_of_the_grammar() -> None:
    shown = [s.key for s in Document.parse(TEXT).statements() if s.text.startswith("- ")]
    lessons = [parse_lesson(sentence) for sentence in shown]
    assert None not in lessons, [s for s, lesson in zip(shown, lessons, strict=True) if lesson is None]
    assert {type(lesson) for lesson in lessons} == set(FAMILIES)
    assert [lesson.sentence() for lesson in lessons if lesson] == shown

from __future__ import annotations

from dataclasses import replace

from tests.trainer.offline.world import shop
from trainer.offline.candidates import candidates
from trainer.offline.corpus import Corpus
from trainer.offline.facts import read_facts
from trainer.offline.grammar import parse_lesson


def test_what_is_tried_does_not_depend_on_how_it_ended() -> None:
    made = [read_facts(r, r.evaluation) for r in shop(6, 3)]  # type: ignore[arg-type]
    turned = [replace(f, failed=not f.failed, expected=()) for f in made]
    assert candidates(Corpus.of(made)) == candidates(Corpus.of(turned))


def test_every_candidate_can_be_checked_from_its_sentence() -> None:
    corpus = Corpus.of([read_facts(r, r.evaluation) for r in shop(6, 3)])  # type: ignore[arg-type]
    for lesson in candidates(corpus):
        assert parse_lesson(lesson.sentence()) == lesson


def test_identifiers_never_enter_a_candidate() -> None:
    rollouts = shop(6, 3)
    corpus = Corpus.of([read_facts(r, r.evaluation) for r in rollouts])  # type: ignore[arg-type]
    said = " ".join(lesson.sentence() for lesson in candidates(corpus))
    ids = {str(v) for r in corpus.rollouts for c in r.calls for v in c.arguments.values()}
    assert not [i for i in ids if i in said]

from __future__ import annotations

from tests.trainer.offline.world import shop
from trainer.offline.candidates import candidates
from trainer.offline.corpus import Corpus
from trainer.offline.facts import read_facts
from trainer.offline.judging import judge_all


def test_bit_sets_say_what_the_lessons_say() -> None:
    corpus = Corpus.of([read_facts(r, r.evaluation) for r in shop()])  # type: ignore[arg-type]
    lessons = candidates(corpus)
    assert len(lessons) > 30
    found = judge_all(corpus, lessons)
    for lesson in lessons:
        verdicts = [lesson.judge(r) for r in corpus.rollouts]
        broke, kept = (sum(1 << n for n, v in enumerate(verdicts) if v == w) for w in ("violates", "follows"))
        assert found[lesson] == (broke, kept), lesson.sentence()

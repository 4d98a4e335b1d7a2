"""Judges many lessons at once. For conditions: the verdicts of `Avoid.judge`, from bit sets over rollouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from trainer.offline.grammar import Avoid
from trainer.offline.situations import Situations

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trainer.offline.condition import Condition
    from trainer.offline.corpus import Corpus
    from trainer.offline.facts import Facts
    from trainer.offline.grammar import Lesson
    from trainer.offline.objects import Features


class Judged(NamedTuple):
    """What the rollouts of a corpus did with a lesson, as bit sets: bit n is the n-th rollout."""

    broke: int
    kept: int

    @property
    def applies(self) -> int:
        """The rollouts to which the lesson applies."""
        return self.broke | self.kept

    def among(self, chosen: int) -> Judged:
        """Return the same for some of the rollouts."""
        return Judged(self.broke & chosen, self.kept & chosen)


def judge_all(corpus: Corpus, lessons: Sequence[Lesson]) -> dict[Lesson, Judged]:
    """Return lesson → who broke it and who kept it."""
    objects = _Objects(corpus.rollouts)
    judges: dict[str, _Decisions] = {}
    found: dict[Lesson, Judged] = {}
    for lesson in lessons:
        if isinstance(lesson, Avoid):
            if lesson.tool not in judges:
                judges[lesson.tool] = _Decisions(corpus.rollouts, lesson.tool, objects)
            found[lesson] = judges[lesson.tool].verdicts(lesson)
        else:
            broke = kept = 0
            for n, rollout in enumerate(corpus.rollouts):
                verdict = lesson.judge(rollout)
                if verdict == "violates":
                    broke |= 1 << n
                elif verdict == "follows":
                    kept |= 1 << n
            found[lesson] = Judged(broke, kept)
    return found


def bits(flags: Iterable[bool]) -> int:
    """Return the set of the positions of the flags that are true."""
    return sum(1 << n for n, flag in enumerate(flags) if flag)


class _Objects:
    """What the rollouts read, whatever for. Layer k is about the k-th object of each that a key names."""

    def __init__(self, rollouts: Sequence[Facts]) -> None:
        self._rollouts = rollouts
        self._layers: dict[str, list[Situations]] = {}
        self._met: dict[tuple[str, Condition], int] = {}

    def met(self, key: str, said: Condition) -> int:
        """Return the rollouts that read an object that `key` names and for which a condition holds."""
        if key not in self._layers:
            self._layers[key] = _layers([r.objects(key) for r in self._rollouts])
        if (key, said) not in self._met:
            found = 0
            for layer in self._layers[key]:
                both = layer.places
                for atom in said:
                    both &= layer.where(atom)[0]
                found |= both
            self._met[key, said] = found
        return self._met[key, said]


class _Decisions:
    """One tool. Layer k is about the k-th accepted call of each rollout."""

    def __init__(self, rollouts: Sequence[Facts], tool: str, objects: _Objects) -> None:
        self._calls = _layers([[r.features[c.at] for c in r.of(tool) if not c.refused] for r in rollouts])
        self._without = bits(not r.of(tool) for r in rollouts)
        self._objects = objects

    def verdicts(self, lesson: Avoid) -> Judged:
        """Return what the rollouts did."""
        broke = no = 0
        for layer in self._calls:
            both, none = -1, 0
            for atom in lesson.condition:
                true, false = layer.where(atom)
                both &= true
                none |= false
            broke |= both
            no |= none
        key, said = lesson.on_objects
        if key:
            no |= self._objects.met(key, said) & self._without
        return Judged(broke, no & ~broke)


def _layers(found: Sequence[Sequence[Features]]) -> list[Situations]:
    """Return, for each k, what is known at the k-th place of the rollouts that have so many."""
    return [
        Situations((n, places[k]) for n, places in enumerate(found) if len(places) > k)
        for k in range(max(map(len, found), default=0))
    ]

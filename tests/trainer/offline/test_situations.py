from __future__ import annotations

from trainer.offline.condition import Atom
from trainer.offline.objects import Ref, Term
from trainer.offline.situations import Situations

TERM = Term("value", Ref("colour", ("house_id",)))


def test_places_are_told_apart_by_what_is_known_there() -> None:
    made = Situations([(0, {TERM: ("red",)}), (2, {TERM: ("blue",)}), (3, {TERM: ("red",)}), (4, {})])
    assert made.places == 0b11101
    assert len(list(made)) == 3
    assert made.where(Atom("is", TERM, "red")) == (0b1001, 0b100)
    assert made.where(Atom("is", TERM, "red", positive=False)) == (0b100, 0b1001)
    assert made.where(Atom("is", Term("value", Ref("size")), "big")) == (0, 0)

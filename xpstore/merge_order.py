"""The order of a three-way merge: where what one side added goes, and which occurrence is which."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

T = TypeVar("T")
Pair = tuple[str, str]
Id = tuple[str, int]


def weave(base: Sequence[T], ours: Sequence[T], theirs: Sequence[T]) -> list[T]:
    """Return the merged order of distinct ids: what both have, and what one side added.

    An addition follows its nearest preceding neighbour that both have (else it comes first); at the same
    place ours come before theirs. An id of the base that one side lacks is left out. Where only theirs moved
    things, their order wins, otherwise ours.
    """
    known, in_ours, in_theirs = set(base), set(ours), set(theirs)
    shared = in_ours & in_theirs
    spine = _spine(base, ours, theirs, shared)
    first: list[T] = []
    following: dict[T, list[T]] = {item: [] for item in spine}
    for side in (ours, theirs):
        slot = first
        for item in side:
            if item in shared:
                slot = following[item]
            elif item not in known:
                slot.append(item)
    return first + [item for anchor in spine for item in (anchor, *following[anchor])]


def _spine(base: Sequence[T], ours: Sequence[T], theirs: Sequence[T], shared: set[T]) -> list[T]:
    common = shared & set(base)
    was, is_ours, is_theirs = ([item for item in side if item in common] for side in (base, ours, theirs))
    chosen = theirs if is_ours == was != is_theirs else ours
    return [item for item in chosen if item in shared]


def identify(base: Sequence[Pair], ours: Sequence[Pair], theirs: Sequence[Pair]) -> list[list[Id]]:
    """Return ids for (key, text) pairs of three versions: the same id = the same thing.

    Unique keys pair by key. Where a key occurs more than once, equal texts pair first and the rest in order;
    with the base before with what ours added.
    """
    stock: dict[str, list[str]] = {}
    result = [_numbered(base, stock, {})]
    in_base = {key: len(texts) for key, texts in stock.items()}
    return [*result, _numbered(ours, stock, in_base), _numbered(theirs, stock, in_base)]


def _numbered(side: Sequence[Pair], stock: dict[str, list[str]], in_base: Mapping[str, int]) -> list[Id]:
    """Return an id per pair; `stock` has the text of each number of a key so far, and grows."""
    places: dict[str, list[int]] = {}
    for place, (key, _) in enumerate(side):
        places.setdefault(key, []).append(place)
    ids: list[Id] = [("", -1)] * len(side)
    for key, here in places.items():
        texts = stock.setdefault(key, [])
        found: dict[int, int] = {}
        for numbers in (range(in_base.get(key, 0)), range(in_base.get(key, 0), len(texts))):
            _pair([(i, side[i][1]) for i in here if i not in found], [(n, texts[n]) for n in numbers], found)
        for place in here:
            if place not in found:
                found[place] = len(texts)
                texts.append(side[place][1])
            ids[place] = (key, found[place])
    return ids


def _pair(places: list[tuple[int, str]], numbers: list[tuple[int, str]], found: dict[int, int]) -> None:
    free = dict(numbers)
    for place, text in places:
        exact = next((n for n, other in free.items() if other == text), None)
        if exact is not None:
            found[place] = exact
            del free[exact]
    rest = [place for place, _ in places if place not in found]
    found.update(zip(rest, free, strict=False))

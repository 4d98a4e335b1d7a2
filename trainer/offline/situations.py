"""What is known at many places (calls, objects), each distinct situation judged once.

Trials of a case meet the same objects again and again: there are far fewer situations than places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from trainer.offline.condition import Atom
    from trainer.offline.objects import Features


class Situations:
    """Distinct features, with the set of places where they are known. Bit n of a set is place n."""

    def __init__(self, places: Iterable[tuple[int, Features]]) -> None:
        masks: dict[frozenset[object], int] = {}
        known: dict[frozenset[object], Features] = {}
        for place, features in places:
            key = frozenset(features.items())
            masks[key] = masks.get(key, 0) | 1 << place
            known.setdefault(key, features)
        self._found = [(known[key], mask) for key, mask in masks.items()]
        self.places = 0
        """All places."""
        for mask in masks.values():
            self.places |= mask
        self._where: dict[Atom, tuple[int, int]] = {}

    def __iter__(self) -> Iterator[Features]:
        return (features for features, _ in self._found)

    def where(self, atom: Atom) -> tuple[int, int]:
        """Return the places where an atom holds, and those where it does not; it is open at the others."""
        if atom not in self._where:
            true = false = 0
            for features, mask in self._found:
                held = atom.holds(features)
                if held:
                    true |= mask
                elif held is False:
                    false |= mask
            self._where[atom] = true, false
        return self._where[atom]

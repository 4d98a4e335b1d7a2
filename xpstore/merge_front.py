"""Three-way merge of front matter, key by key. A key's own lines are what is merged; line ends are no change.

Where both sides changed them, values and comments are merged each by themselves. Comments mean nothing to
agents, so they are never a conflict: what both sides made of one stays, twice rather than not at all. One
that has lost its place stands above its key.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xpstore.frontmatter import dump, entries, load, splice
from xpstore.merge_comments import merged_comments, texts_of, with_comments
from xpstore.merge_order import weave

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TAIL = "\0tail"  # the pseudo-key of the comments below the last key; no YAML key has a NUL
PLACE = "front matter"
"""The `section` of overlaps in front matter."""

_INDENT = re.compile(r"^[ \t]+(?=#)", re.MULTILINE)
"""Of a comment in a line of its own: below another key's block of text it would be a part of that text."""

_Chunks = dict[str, str]
_Values = dict[str, object]


@dataclass(slots=True)
class FrontMerge:
    """The merged YAML (None = no front matter) and, per key that both sides changed, the three values."""

    source: str | None = None
    clashes: list[tuple[str, str, str]] = field(default_factory=list)
    """YAML lines of base, ours, theirs; empty where the side has no such key."""


def merge_front(base: str | None, ours: str | None, theirs: str | None) -> FrontMerge:
    """Merge three YAML sources. Raises DocumentError where one does not parse."""
    base, ours, theirs = (text and text.replace("\r\n", "\n") for text in (base, ours, theirs))
    if ours in (theirs, base) or theirs == base:
        for source in (base, ours, theirs):
            load(source or "")
        return FrontMerge(theirs if ours == base else ours)
    result = FrontMerge()
    b, o, t = (_chunks(source) for source in (base, ours, theirs))
    vb, vo, vt = (load(source or "") for source in (base, ours, theirs))
    comments = _left_comments((b, o, t), (vb, vo, vt), result)
    lines: list[str] = []
    order = weave([key for key in b if key not in comments], list(o), list(t))
    for key in sorted(order, key=lambda k: k == _TAIL):
        chunk = comments.get(key) or _pick(b.get(key, ""), o.get(key, ""), t.get(key, ""))
        lines.append(_both_changed(key, (b, o, t), (vb, vo, vt), result) if chunk is None else chunk)
    is_gone = not lines and (ours is None or theirs is None)
    result.source = None if is_gone else _joined(lines)
    return result


def _chunks(source: str | None) -> dict[str, str]:
    """Return key → its lines and the comments above it; a `{…}` mapping as if written in lines."""
    text = source or ""
    places = entries(text)
    chunks: dict[str, str] = {}
    if places is None:
        chunks = {key: dump({key: value}) for key, value in load(text).items()}
        tail = "".join(f"{comment}\n" for comment in texts_of(text))
        return {**chunks, _TAIL: tail} if tail else chunks
    at = 0
    for place in places:
        chunks[place.key] = _INDENT.sub("", text[at : place.start]) + text[place.start : place.end]
        at = place.end
    if text[at:]:
        chunks[_TAIL] = _INDENT.sub("", text[at:])
    return chunks


def _pick(base: str, ours: str, theirs: str) -> str | None:
    if theirs in (base, ours):
        return ours
    return theirs if ours == base else None


def _gained(base: _Chunks, side: _Chunks, other: _Chunks) -> Counter[str]:
    """Return the comments that a side has and the base has not, at what `other` has not removed."""
    stay = [text for key, text in side.items() if key == _TAIL or key in other or key not in base]
    return Counter(_texts(stay)) - Counter(_texts(base.values()))


def _texts(chunks: Iterable[str]) -> Iterator[str]:
    return (comment for chunk in chunks for comment in texts_of(chunk))


def _left_comments(
    chunks: tuple[_Chunks, _Chunks, _Chunks], values: tuple[_Values, _Values, _Values], result: FrontMerge
) -> _Chunks:
    """Return the comments that the other side wrote at keys that one side removed.

    One that the removing side has gained elsewhere is the same: it was merged before. A removed key whose
    value the other side changed is a clash.
    """
    base, ours, theirs = chunks
    elsewhere = {True: _gained(base, theirs, ours), False: _gained(base, ours, theirs)}
    comments: _Chunks = {}
    for key in base:
        kept = ours.get(key, "") or theirs.get(key, "")
        if (key in ours) == (key in theirs) or kept == base[key]:
            continue
        if key == _TAIL or (values[1] if key in ours else values[2])[key] == values[0][key]:
            left = Counter(merged_comments(base[key], ours.get(key, ""), theirs.get(key, "")))
            if key != _TAIL:
                there = left & elsewhere[key in ours]
                left -= there
                elsewhere[key in ours] -= there
            comments[key] = with_comments("", list(left.elements()))
        else:
            result.clashes.append((base[key], ours.get(key, ""), theirs.get(key, "")))
    return {key: text for key, text in comments.items() if text}


def _both_changed(
    key: str,
    chunks: tuple[_Chunks, _Chunks, _Chunks],
    values: tuple[_Values, _Values, _Values],
    result: FrontMerge,
) -> str:
    base, ours, theirs = (side.get(key, "") for side in chunks)
    was, mine, yours = (side.get(key) for side in values)
    if not base and not (ours and theirs):
        return ours or theirs
    text = ours
    if key == _TAIL or yours in (mine, was):
        pass  # the value, if there is one, is ours
    elif mine == was:  # ours changed only comments or quotes: keep them, take the other value
        text = splice(ours, {key: yours})
    elif isinstance(mine, list) and isinstance(yours, list):
        text = splice(ours, {key: _union(was if isinstance(was, list) else [], mine, yours)})
    else:
        result.clashes.append((base, ours, theirs))
        return ours
    return with_comments(text, merged_comments(base, ours, theirs), (ours, theirs))


def _union(base: list[object], ours: list[object], theirs: list[object]) -> list[object]:
    kept = [value for value in ours if value in theirs or value not in base]
    return kept + [value for value in theirs if value not in ours and value not in base]


def _joined(lines: list[str]) -> str:
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)

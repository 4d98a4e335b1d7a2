"""Three-way merge of the comments in YAML lines, apart from the values. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xpstore.frontmatter import comments
from xpstore.merge_order import identify, weave

if TYPE_CHECKING:
    from collections.abc import Sequence


def texts_of(source: str) -> list[str]:
    """Return the comments of YAML lines, each from its `#`. Raises DocumentError for bad YAML."""
    return [source[start:end] for start, end in comments(source)]


def merged_comments(base: str, ours: str, theirs: str) -> list[str]:
    """Return the comments that stay: all that a side added, and those of the base that both still have."""
    sides = [[(text, text) for text in texts_of(source)] for source in (base, ours, theirs)]
    return [text for text, _ in weave(*identify(*sides))]


def with_comments(source: str, wanted: Sequence[str], seen: Sequence[str] = ()) -> str:
    """Return YAML lines of one key with just these comments.

    One that is missing takes the place of one that goes, if both stand alone in a line, or both behind a
    value; else it stands above the key. `seen`: the lines that it may come from.
    """
    behind = {text[start:end] for text in seen for start, end in comments(text) if _is_behind(text, start)}
    left = Counter(wanted)
    surplus: list[tuple[int, int]] = []
    for start, end in comments(source):
        text = source[start:end]
        if left[text]:
            left[text] -= 1
        else:
            surplus.append((start, end))
    missing = list(left.elements())
    instead: dict[int, str] = {}
    for start, _ in surplus:
        is_behind = _is_behind(source, start)
        text = next((text for text in missing if (text in behind) == is_behind), "")
        if text:
            missing.remove(text)
            instead[start] = text
    result = source
    for start, end in reversed(surplus):
        text = instead.get(start, "")
        result = result[:start] + text + result[end:] if text else _without(result, start, end)
    return _above(result, missing)


def _is_behind(source: str, at: int) -> bool:
    return bool(source[source.rfind("\n", 0, at) + 1 : at].strip())


def _without(source: str, start: int, end: int) -> str:
    """Return the source without a comment, and without its line where nothing else is on it."""
    line = source.rfind("\n", 0, start) + 1
    before = source[line:start].rstrip()
    return source[:line] + before + source[end:] if before else source[:line] + source[end:].lstrip(" \t")[1:]


def _above(source: str, missing: Sequence[str]) -> str:
    lines = [f"{line}\n" for line in source.split("\n")]
    lines[-1] = lines[-1][:-1]
    at = next((n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None)
    head, rest = "".join(lines[:at]), "".join([] if at is None else lines[at:])
    if missing and head and not head.endswith("\n"):
        head += "\n"
    return head + "".join(f"{text}\n" for text in missing) + rest

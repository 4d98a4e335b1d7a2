"""Is the account of a decision complete and true? One hunk at a time. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import polarity
from xpstore.fidelity import contained, content, gained_negation, lost_negation, misplaced, names
from xpstore.markdown import statement_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xpstore.conflict import Hunk, Numbered
    from xpstore.resolver import Claim

# Shares of content words. Set on the tuning half of the corpora of tests/xpstore/test_resolution_check.py.
MERGED = 0.8  # of a statement, that the one it was merged into has
SUPERSEDED = 0.6  # of a statement, that the one which replaces it has
COVERED = 0.9  # of a dropped statement, or of a merged one that rewords nothing, that one which stays has
REWORDED = 0.5  # of a statement of the base, that its rewording has
INVENTED = 0.34  # of a new wording, that none of its sources has
FOREIGN = 0.67  # of one sentence of it; of fewer words than FEW nothing is said
FEW = 2
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|(?<=[。！？；：])|\n")  # noqa: RUF001  # the full stops of Chinese


@dataclass(frozen=True, slots=True)
class Objection:
    """What a check found. An error refuses, anything else is a warning."""

    check: str
    message: str
    is_error: bool = True


def check_account(
    hunk: Hunk, decided: Sequence[str], around: Sequence[str], claims: Mapping[int, Claim]
) -> Iterator[Objection]:
    """Yield what is wrong with the claims about one hunk.

    `decided` are the statements that stand in its place, `around` the others of the same section.
    """
    for statement in hunk.statements:
        claim = claims.get(statement.number)
        if claim is None:
            yield Objection("account", f"nothing is said about what became of {_quoted(statement.text)}")
        else:
            yield from _check_claim(hunk, statement, claim, decided, around)
    known = {_plain(s.text): s for s in hunk.statements}
    for text in decided:
        verbatim = known.get(_plain(text))
        into = [s.text for s in hunk.statements if _claimed_into(claims.get(s.number), text)]
        if verbatim is None:
            yield from _check_wording(text, into)
        elif verbatim.section != hunk.section:
            yield Objection("section", f"{_quoted(text)} is moved to section {hunk.section!r}")


def _check_claim(
    hunk: Hunk, statement: Numbered, claim: Claim, decided: Sequence[str], around: Sequence[str]
) -> Iterator[Objection]:
    text = statement.text
    stands = _plain(text) in {_plain(other) for other in decided}
    if (claim.fate == "kept") != stands:
        what = (
            "is said to be kept and is not there" if not stands else f"is said to be {claim.fate} and stands"
        )
        yield Objection("account", f"{_quoted(text)} {what}")
        return
    if claim.fate == "kept":
        if not statement.is_added and not hunk.kept_by_all(statement):
            yield Objection("undeleted", f"{_quoted(text)} came back, which was taken out", is_error=False)
        return
    if claim.fate == "dropped" and not claim.reason.strip():
        yield Objection("account", f"{_quoted(text)} is dropped without a reason")
        return
    if not statement.is_added:
        if hunk.kept_by_all(statement):
            yield Objection("loss", f"{_quoted(text)} is gone, and nobody took it out")
        return
    if claim.fate == "dropped":
        if not _may_drop(hunk, statement, [*decided, *around]):
            yield Objection("dropped", f"{_quoted(text)} is dropped; the reason cannot be checked")
        return
    if _plain(claim.into) not in {_plain(other) for other in (*decided, *around)}:
        yield Objection("account", f"{_quoted(text)} is {claim.fate} into a statement that is not there")
        return
    check = _check_merged if claim.fate == "merged" else _check_superseded
    yield from check(hunk, statement, claim.into)


def _check_merged(hunk: Hunk, statement: Numbered, into: str) -> Iterator[Objection]:
    text = statement.text
    if hunk.is_front_matter:
        return
    share = min(contained(text, into), _news_kept(hunk, text, into))
    if share < (MERGED if _reworded(hunk, text) else COVERED):
        yield Objection("account", f"{_quoted(into)} does not say what {_quoted(text)} said ({share:.0%})")
    missing = sorted(names(text) - names(into))
    if missing:
        yield Objection("loss", f"{_quoted(into)} has lost {', '.join(missing)} of {_quoted(text)}")
    word = lost_negation(text, into)
    if word:
        yield Objection("negation", f"{_quoted(into)} has lost the negation of {word!r}")


def _check_superseded(hunk: Hunk, statement: Numbered, into: str) -> Iterator[Objection]:
    text = statement.text
    if hunk.is_front_matter:
        return
    same = next((s for s in hunk.statements if _plain(s.text) == _plain(into)), None)
    if same is not None and (not same.is_added or same.sides & statement.sides):
        yield Objection("superseded", f"{_quoted(into)} is not newer than {_quoted(text)}")
    elif not _is_about(text, into) or not _has_news(hunk, text, into):
        yield Objection("superseded", f"{_quoted(into)} is not about what {_quoted(text)} was about")


def _is_about(text: str, other: str) -> bool:
    """Whether one may take the place of the other: the same condition and most of the words, both ways."""
    one, two = polarity.command(text), polarity.command(other)
    if (one.condition or two.condition) and content(one.condition) != content(two.condition):
        return False
    if polarity.contradict(one, two):
        return True
    shares = sorted((contained(text, other), contained(other, text)))
    return shares[0] >= REWORDED and shares[1] >= SUPERSEDED


def _has_news(hunk: Hunk, text: str, into: str) -> bool:
    """Whether the statement that replaces another has what that had new, but for other numbers."""
    if polarity.contradict(polarity.command(text), polarity.command(into)):
        return True
    lost, gained = names(text) - names(into), names(into) - names(text)
    is_kept = _news_kept(hunk, text, into) >= REWORDED and len(lost) <= len(gained)
    return is_kept and not lost_negation(text, into)


def _news_kept(hunk: Hunk, text: str, into: str) -> float:
    """Return the share of the words without digits that a statement has over the base and `into` has too.

    Over the statements of the base that it rewords: a word that another one has is still news here.
    """
    old = {word for base in _reworded(hunk, text) for word in content(base)}
    news = {word for word in content(text) - old if not any(c.isdigit() for c in word)}
    return len(news & content(into)) / len(news) if news else 1.0


def _reworded(hunk: Hunk, text: str) -> list[str]:
    """Return the statements of the base that a statement rewords: it has half of one, a third is of it."""
    return [
        base.text
        for base in hunk.of("base")
        if contained(base.text, text) >= REWORDED and contained(text, base.text) >= INVENTED
    ]


def _may_drop(hunk: Hunk, statement: Numbered, result: Sequence[str]) -> bool:
    """Whether a reason for the drop is in the versions: a contradiction, a removal, or said already."""
    if hunk.is_front_matter:
        return any(other.split(":")[0] == statement.text.split(":")[0] for other in result)
    mine = polarity.command(statement.text)
    for other in result:
        if polarity.contradict(mine, polarity.command(other)):
            return True
        covers = contained(statement.text, other) >= COVERED and names(statement.text) <= names(other)
        if covers and not lost_negation(statement.text, other):
            return True
    removed_by = [side for side in hunk.versions if side not in statement.sides]
    return any(
        contained(base.text, statement.text) >= REWORDED
        and not any(contained(base.text, s.text) >= REWORDED for s in hunk.of(side))
        for side in removed_by
        for base in hunk.of("base")
        if side not in base.sides
    )


def _check_wording(text: str, sources: Sequence[str]) -> Iterator[Objection]:
    """Check a statement that no version has."""
    if not sources:
        yield Objection("invented", f"no version has {_quoted(text)}, and no claim leads to it")
        return
    new = sorted(names(text) - {name for source in sources for name in names(source)})
    if new:
        yield Objection("novelty", f"{_quoted(text)} has {', '.join(new)}, which its sources do not have")
    number = misplaced(text, sources)
    if number:
        yield Objection(
            "numbers", f"{number} in {_quoted(text)} stands where the sources have another number"
        )
    word = gained_negation(sources, text)
    if word:
        yield Objection("negation", f"{_quoted(text)} negates {word!r}, which its sources affirm")
    words = content(text)
    unknown = words - {w for source in sources for w in content(source)}
    if unknown:
        too_much = len(unknown) > INVENTED * len(words)
        yield Objection("reworded", f"{_quoted(text)} has words of no version", is_error=too_much)
    for sentence in _SENTENCE.split(text):
        said = content(sentence)
        if len(said) >= FEW and len(said & unknown) > FOREIGN * len(said):
            yield Objection("invented", f"{_quoted(sentence)} is about nothing that the sources say")


def _claimed_into(claim: Claim | None, text: str) -> bool:
    return claim is not None and claim.fate in {"merged", "superseded"} and _plain(claim.into) == _plain(text)


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


def _quoted(text: str) -> str:
    key = re.sub(r"\s+", " ", statement_key(text))
    return f'"{key if len(key) <= 80 else key[:79] + "…"}"'

"""Before a push: what the other side would refuse, or what nobody has measured. Advice only.

`git push --no-verify` skips it. `git config xp.ungatedPush block` makes main with experiences that no gate
has accepted an error, `pass` silences it. Nothing is decided again here; a server with our hook does that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hooks.remark import Remark
from xpstore import evidence, gate_record, layout, witness
from xpstore.evaluation import experiences_at
from xpstore.location import stores_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xpstore.git import Repo
    from xpstore.location import Location

SETTING = "xp.ungatedPush"
_LINE = re.compile(r".* ([0-9a-f]{40}) (\S+) ([0-9a-f]{40})")
_NONE = "0" * 40

Ungated = Literal["warn", "block", "pass"]


@dataclass(frozen=True, slots=True)
class Pushed:
    """One ref of a push: what it will be and what it is over there; None = deleted, or new."""

    ref: str
    new: str | None
    old: str | None


def parse(text: str) -> list[Pushed]:
    """Return what git says: a line `<local ref> <local id> <remote ref> <remote id>` for each ref."""
    found = [_LINE.fullmatch(line) for line in text.split("\n") if line]
    return [Pushed(match[2], _id(match[1]), _id(match[3])) for match in found if match]


def check(repo: Repo, pushed: list[Pushed], ungated: Ungated) -> list[Remark]:
    """Return what speaks against a push, or should be known."""
    stores = _stores(repo, pushed)
    return [remark for each in pushed for loc in stores for remark in _check(loc, each, ungated)]


def _check(loc: Location, each: Pushed, ungated: Ungated) -> Iterator[Remark]:
    short = each.ref.removeprefix(layout.HEADS)
    if each.ref == loc.evidence_ref:
        if each.new is None:
            yield Remark(f"{short} is the evidence: the push would delete it", "xp forget removes a rollout")
        elif each.old and loc.repo.has(each.old) and not _continues(loc, each.old, each.new):
            yield Remark(f"{short} would lose evidence that is over there", "xp sync brings both together")
    elif each.ref == loc.main_ref and each.new and each.old and loc.repo.has(each.old) and ungated != "pass":
        yield from _ungated(loc, each.old, each.new, short, blocks=ungated == "block")


def _continues(loc: Location, old: str, new: str) -> bool:
    return witness.continues(loc, witness.Seen(old, witness.generation(loc, old)), new)


def _ungated(loc: Location, old: str, new: str, branch: str, *, blocks: bool) -> Iterator[Remark]:
    before, after = experiences_at(loc, old), experiences_at(loc, new)
    if before == after:
        return
    decisions = gate_record.of_experiences(loc, after, before) if evidence.tip(loc) else []
    if not any(d.decision == "accept" and d.decided_by != gate_record.NOBODY for d in decisions):
        yield Remark(
            f"no gate has accepted the experiences that the push brings to {branch}",
            "xp gate measures a branch, xp land measures and lands it",
            blocks=blocks,
        )


def _stores(repo: Repo, pushed: list[Pushed]) -> list[Location]:
    """Return the stores that the pushed refs can be of, by their ids: on the pushed branches, and here."""
    tips = [each.new for each in pushed if each.new and each.ref.startswith(layout.HEADS)]
    head = repo.head_ref()
    here = repo.ref(head) if head else repo.resolve("HEAD")
    found: dict[str, Location] = {}
    for tip in [*tips, *([here] if here else [])]:
        for loc in stores_at(repo, repo.commit(tip).tree)[0]:
            found.setdefault(loc.config.id, loc)
    return list(found.values())


def _id(text: str) -> str | None:
    return None if text == _NONE else text

"""What a server makes of a push: the refs of a store against the rules of each. Everything else passes.

`pre-receive` sees all refs of a push before one of them moves, so main may come together with the evidence
for it: it is the gate. `update` sees one ref; evidence counts only if it is here already, so where nothing
but `update` can be installed, evidence is pushed first. Both read objects that are not the repository's own
yet; git keeps them apart until the push is accepted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hooks import growth, main_rules, notes_rules, ref_rules, store_rules
from hooks.remark import Remark
from xpstore import layout
from xpstore.config import FORMAT, StoreConfig
from xpstore.errors import UsageError
from xpstore.location import Location

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hooks.trust import Trust
    from xpstore.git import Repo

_EVIDENCE = re.compile(rf"{layout.HEADS}xp/(?:([^/]+)/)?evidence")
_NOTES = re.compile(r"refs/notes/xp-eval(?:-(.+))?")
_LINE = re.compile("([0-9a-f]{40}) ([0-9a-f]{40}) (.+)")
_NONE = "0" * 40


@dataclass(frozen=True, slots=True)
class Update:
    """One ref of a push; None = it is made, or deleted."""

    ref: str
    old: str | None
    new: str | None


def parse(text: str) -> list[Update]:
    """Return what git says to pre-receive: a line `<old> <new> <ref>` for each ref."""
    found = [_LINE.fullmatch(line) for line in text.split("\n") if line]
    if not all(found):
        raise UsageError("pre-receive was not told what is pushed", hint="githooks(5) says how git starts it")
    return [update(match[3], match[1], match[2]) for match in found if match]


def update(ref: str, old: str, new: str) -> Update:
    """Return one ref of a push from its name and ids as git gives them."""
    return Update(ref, _id(old), _id(new))


def check(repo: Repo, updates: Sequence[Update], trust: Trust) -> list[Remark]:
    """Return what speaks against a push; all of it, so that it can be put right at once."""
    real = [replace(each, ref=ref_rules.target(repo, each.ref)) for each in updates]
    pushed = {each.ref: each.new for each in real}
    return [
        Remark(f"{_called(said, each)}: {remark.text}", remark.hint, blocks=remark.blocks)
        for said, each in zip(updates, real, strict=True)
        for remark in _check(repo, each, pushed, trust)
    ]


def _called(said: Update, real: Update) -> str:
    name, ref = (each.ref.removeprefix(layout.HEADS) for each in (said, real))
    return name if name == ref else f"{name} (another name of {ref} here)"


def _check(repo: Repo, each: Update, pushed: dict[str, str | None], trust: Trust) -> Iterator[Remark]:
    evidence, notes = _EVIDENCE.fullmatch(each.ref), _NOTES.fullmatch(each.ref)
    is_branch = each.ref.startswith(layout.HEADS)
    if (is_branch or notes) and each.new and (bad := ref_rules.not_a_commit(repo, each.new)):
        yield bad
    elif taken := [*_name(repo, each, pushed)]:
        yield from taken
    elif evidence:
        loc = _store(repo, evidence[1])
        if each.new is None:
            yield Remark("evidence is for good, it cannot be deleted", "xp forget removes a rollout")
        else:
            yield from growth.check(loc, each.old, each.new)
    elif notes:
        loc = _store(repo, notes[1])
        if each.new is not None:
            yield from notes_rules.check(loc, each.old, each.new, _evidence(loc, pushed))
    elif is_branch:
        yield from _branch(repo, each, pushed, trust)


def _name(repo: Repo, each: Update, pushed: dict[str, str | None]) -> Iterator[Remark]:
    branch = ref_rules.branch_in_place_of(each.ref) if each.new else None
    for other in [*([branch] if branch else []), *ref_rules.twins(repo, each.ref, pushed)]:
        tip = pushed.get(other) or repo.ref(other)
        if tip and (_EVIDENCE.fullmatch(other) or main_rules.guarded(repo, other, tip)):
            short = other.removeprefix(layout.HEADS)
            yield Remark(f"git would take it for the branch {short}, which xp reads", "choose another name")


def _branch(repo: Repo, each: Update, pushed: dict[str, str | None], trust: Trust) -> Iterator[Remark]:
    known = main_rules.guarded(repo, each.ref, each.old) if each.old else []
    if known and each.old and each.new:
        moved = store_rules.check(repo, each.old, each.new, allows_new=trust.allows_stores)
        if moved:
            yield from moved
            return
    ids = {loc.config.id for loc in known}
    for loc in main_rules.guarded(repo, each.ref, each.new) if each.new else ():
        if loc.config.id not in ids and each.new:
            yield from main_rules.check_first(loc, each.new)
    for loc in known:
        if each.new is None or each.old is None:
            yield Remark("agents read it, it cannot be deleted", "the server's owner can, on the server")
        else:
            yield from main_rules.check(loc, each.old, each.new, _evidence(loc, pushed), trust)


def _evidence(loc: Location, pushed: dict[str, str | None]) -> str | None:
    """Return where a store's evidence will be after the push."""
    return pushed.get(loc.evidence_ref) or loc.repo.ref(loc.evidence_ref)


def _store(repo: Repo, name: str | None) -> Location:
    """Return a store by what its refs say of it: its name. Evidence may come before its pages do."""
    return Location(repo, "", StoreConfig(FORMAT, "0", name or ""))


def _id(text: str) -> str | None:
    return None if text == _NONE else text

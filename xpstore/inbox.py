"""The inbox: rollouts that were received and that nobody has learned from yet.

A rollout is open until a plan that cites it is reachable, a learner has said that it teaches nothing, or a
person has dropped it. What a streaming trainer has received is marked with the branch that it is for and with
the token of its process (alive.py): the next one knows what to take up and what somebody else is still at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xpstore import alive, evidence, kept, layout, tracking
from xpstore.errors import NotFoundError, UsageError
from xpstore.evidence_read import find_ids, ledger
from xpstore.history import candidates, reachable_plan_ids
from xpstore.ledger import is_closed, ledgers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from xpstore.alive import State
    from xpstore.ledger import Event
    from xpstore.location import Location

Progress = Literal["received", "analysed", "planned"]
LISTS = "xp inbox list names those that are open"
BRANCH, TOKEN = "inbox", "by"
"""Keys of a `received` event: the branch that it is for, and the token of who received it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A rollout in the inbox."""

    rollout: str
    case: str
    """Id of its case."""
    progress: Progress
    """`planned`: a plan was made, and no branch has it (any more)."""
    branches: tuple[str, ...]
    """Where streaming trainers were to put it; none where it was received by something else."""
    tokens: frozenset[str]
    """Of these trainers (alive.py)."""
    holder: State | Literal[""]
    """What became of those trainers: one is alive, the last one has died here, all are of other clones."""


def landed(loc: Location, *branches: str) -> frozenset[str]:
    """Return the plans that main, these branches or an open candidate have, here or at a remote."""
    refs = {loc.config.main, *branches, *candidates(loc)}
    tips = {tip for ref in refs if (tip := loc.tip_of(ref)) is not None}
    tips.update(tracking.below(loc.repo, f"{layout.HEADS}{loc.candidate_prefix}").values())
    return reachable_plan_ids(loc, sorted(tips))


def entries(loc: Location) -> list[Entry]:
    """Return what is open, by rollout id."""
    plans: frozenset[str] | None = None
    found: list[Entry] = []
    for rollout, events in ledgers(loc):
        names = {e["event"] for e in events}
        if "planned" in names and plans is None:
            plans = landed(loc) | _waiting(loc)
        if is_closed(events, plans or frozenset()):
            continue
        progress: Progress = (
            "planned" if "planned" in names else "analysed" if "analysed" in names else "received"
        )
        received = [e for e in events if e["event"] == "received"]
        branches = sorted({str(e[BRANCH]) for e in received if BRANCH in e})
        case = next((str(e["case"]) for e in received if "case" in e), "")
        by = frozenset(tokens(events))
        found.append(Entry(rollout, case, progress, tuple(branches), by, holder(loc, by)))
    return found


def _waiting(loc: Location) -> frozenset[str]:
    """Return the plans that wait for a person's decision: what they cite is not open too."""
    return frozenset(branch.rpartition("/")[2] for branch in kept.waiting(loc))


def holder(loc: Location, who: Iterable[str], *, but: str = "") -> State | Literal[""]:
    """Return what became of those with these tokens, leaving out one: alive, if any of them is."""
    states = {alive.state(loc.repo.common_dir, token) for token in who if token != but}
    order: tuple[State, ...] = ("alive", "dead", "elsewhere")
    return next((state for state in order if state in states), "")


def tokens(events: Iterable[Event]) -> Iterator[str]:
    """Yield the tokens of those who received a rollout for a streaming trainer."""
    for event in events:
        if event["event"] == "received" and TOKEN in event:
            yield str(event[TOKEN])


def find(loc: Location, abbreviations: Sequence[str]) -> list[str]:
    """Return the rollouts whose ids begin so, in order. Raises NotFoundError where not exactly one does."""
    found: dict[str, None] = {}
    for text in abbreviations:
        ids = find_ids(loc, "ledger", text)
        if len(ids) != 1:
            what = f"'{text}' is short for {len(ids)} rollouts" if ids else f"there is no rollout '{text}'"
            hint = "give more digits" if ids else LISTS
            raise NotFoundError(what, hint=hint)
        found[ids[0]] = None
    return list(found)


def drop(loc: Location, rollouts: Sequence[str], why: str, *, dry_run: bool = False) -> list[str]:
    """Record that nothing is to be made of these rollouts; return those that were open.

    What was learned already stays. Raises UsageError without a reason, NotFoundError for an unknown id.
    """
    if not why.strip():
        raise UsageError("a rollout is dropped for a reason", hint="--why 'what is wrong with it'")
    known = list(dict.fromkeys(rollouts))
    for rollout in known:
        if not ledger(loc, rollout):
            raise NotFoundError(f"there is no rollout {rollout}", hint=LISTS)
    open_ = {entry.rollout for entry in entries(loc)}
    dropped = [rollout for rollout in known if rollout in open_]
    files = [evidence.ledger_file(i, {"event": "dropped", "why": why.strip()}) for i in dropped]
    if files and not dry_run:
        evidence.write(loc, files, f"Drop {len(files)} rollouts from the inbox")
    return dropped


def case_name(loc: Location, case: str) -> str:
    """Return the name of a case on record; its id where there is none."""
    data = evidence.read(loc, layout.case_path(case)) if case else None
    name = evidence.parse_json(data, layout.case_path(case)).get("name") if data else None
    return str(name or case)

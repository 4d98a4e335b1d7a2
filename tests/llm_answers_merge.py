"""Good answers of a model to questions of the stages `merge` and `resolve`, made from what it is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore.fidelity import contained, lost_negation, names
from xpstore.polarity import contradictions

if TYPE_CHECKING:
    from tests.llm_server import Seen

_STATEMENT = re.compile(r"^\[(\d+)\] (.*)$")
_PLACE = re.compile(r"(.+?), section '(.*)'; (.*)")


@dataclass
class Shown:
    """A numbered statement as the model is shown it."""

    number: int
    about: str
    text: str = ""

    @property
    def page(self) -> str:
        return self._place[1]

    @property
    def section(self) -> str:
        return self._place[2]

    @property
    def _place(self) -> re.Match[str]:
        found = _PLACE.fullmatch(self.about)
        assert found, self.about
        return found

    @property
    def is_open(self) -> bool:
        """Whether an edit adds it, or takes it out."""
        return " adds it" in self.about or "takes it out" in self.about


def statements(content: str) -> list[Shown]:
    """Return what stands in a question with a number, in order."""
    found: list[Shown] = []
    for line in content.split("\n"):
        if match := _STATEMENT.match(line):
            found.append(Shown(int(match[1]), match[2]))
        elif found and line.startswith("| "):
            found[-1].text += ("\n" if found[-1].text else "") + line[2:]
        elif found and not line.startswith("|"):
            found.append(Shown(0, ""))  # what follows belongs to no statement
    return [shown for shown in found if shown.number]


def covers(one: str, other: str) -> bool:
    """Whether the first says all that the second says."""
    return (
        contained(other, one) == 1
        and names(other) <= names(one)
        and not lost_negation(other, one)
        and not lost_negation(one, other)
    )


def merge(seen: Seen) -> dict:
    """Keep what edits add but what another statement says; what is near replaces what they take out."""
    return merged(seen.content)


def merged(content: str) -> dict:
    shown = statements(content)
    account: list[dict] = []
    standing = [s for s in shown if "takes it out" not in s.about]
    for statement in shown:
        if not statement.is_open:
            continue
        if "takes it out" in statement.about:
            near = [s for s in standing if s.is_open and contained(statement.text, s.text) >= 0.5]
            fate = (
                {"fate": "superseded", "into": near[0].number}
                if near
                else {"fate": "dropped", "into": 0, "reason": "an edit took it out"}
            )
        else:
            others = [s for s in standing if s is not statement and covers(s.text, statement.text)]
            fate = {"fate": "merged", "into": others[0].number} if others else {"fate": "kept", "into": 0}
            if others:
                standing.remove(statement)
        account.append({"number": statement.number, "page": "", "reason": "", **fate})
    return {"account": account, "wordings": [], "pages": []}


def resolve(seen: Seen) -> dict:
    """Keep what both sides added; of opposite commands, that of theirs."""
    return resolved(seen.content)


def resolved(content: str) -> dict:
    hunks: list[dict] = []
    account: list[dict] = []
    for block in re.split(r"\n(?=Conflict \d+, )", content)[1:]:
        mine = statements(block)
        added = [s for s in mine if s.about.startswith("new in")]
        kept = [s for s in added if s.about == "new in theirs"] if _are_opposite(added) else added
        hunks.append({"wordings": [], "stands": [s.number for s in kept]})
        for statement in mine:
            fate: dict = {"fate": "kept", "into": 0, "reason": ""}
            if statement not in added:
                fate = {"fate": "superseded", "into": kept[0].number, "reason": ""}
            elif statement not in kept:
                fate = {"fate": "dropped", "into": 0, "reason": "what stands commands the opposite"}
            account.append({"number": statement.number, **fate})
    return {"unclear": "", "hunks": hunks, "account": account}


def _are_opposite(added: list[Shown]) -> bool:
    return any(True for _ in contradictions(s.text for s in added))

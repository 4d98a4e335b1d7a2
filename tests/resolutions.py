"""Right and wrong decisions of merge conflicts, made from documents.

`MERGE_CORPUS` may name a folder of Markdown files: its documents join. Documents with an even place are
for tuning thresholds, the others are only measured.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tests.lesson_bank import CLAUSES, DESKS, VALUES
from xpstore.conflict import Conflict, find_conflict
from xpstore.document import Document
from xpstore.fidelity import contained, content
from xpstore.merge import merge
from xpstore.resolver import Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from xpstore.markdown import Statement

ROOT = Path(__file__).resolve().parent.parent
PAGES_PER_DESK = 7


@dataclass(frozen=True)
class Page:
    """A document, the statement of it that both sides will change, and lessons it has not."""

    name: str
    text: str
    target: str
    lessons: tuple[str, ...]


@dataclass(frozen=True)
class Decision:
    """A decided conflict. `fates` says, by statement, what is claimed of it; what is not named is kept."""

    kind: str
    page: str
    conflict: Conflict
    texts: tuple[str, ...]
    fates: dict[str, Claim] = field(default_factory=dict)
    text: str = ""
    """The whole file, where it is not what the decision alone gives."""
    unsaid: frozenset[str] = frozenset()
    """Statements without a claim."""

    @property
    def account(self) -> tuple[Claim, ...]:
        numbered = [s for hunk in self.conflict.hunks for s in hunk.statements if s.text not in self.unsaid]
        return tuple(
            replace(self.fates[s.text], number=s.number) if s.text in self.fates else Claim(s.number, "kept")
            for s in numbered
        )

    @property
    def result(self) -> str:
        """The file that the decision makes; empty where it makes none."""
        if self.text:
            return self.text
        made = self.conflict.assemble([self.texts])
        return (made.text or "") if made.verdict == "PROVEN" else ""


def merged(into: str) -> Claim:
    return Claim(0, "merged", into=into)


def superseded(into: str) -> Claim:
    return Claim(0, "superseded", into=into)


def dropped(reason: str = "the other side says it better") -> Claim:
    return Claim(0, "dropped", reason=reason)


# --- documents --------------------------------------------------------------------------------------


def pages() -> list[Page]:
    """Return the documents in a fixed order: desks and files in turn, so that halves are alike."""
    found: list[Page] = []
    for at, (desk, lessons) in enumerate(DESKS.items()):
        found += [_desk_page(desk, lessons, PAGES_PER_DESK * at + n) for n in range(PAGES_PER_DESK)]
    files = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "sample_repo" / "experiences").glob("*.md"))]
    if "MERGE_CORPUS" in os.environ:
        files += sorted(Path(os.environ["MERGE_CORPUS"]).rglob("*.md"))
    other = [f"- {lesson}" for desk in ("airline", "clinic") for lesson in DESKS[desk]]
    found += [page for path in files if (page := _file_page(path, other)) is not None]
    return found


def halves() -> tuple[list[Page], list[Page]]:
    """Return the pages for tuning and those that are only measured; no desk is in both."""
    found = pages()
    desks = list(DESKS)
    tuning = [p for p in found if p.name.split("/")[0] in desks[::2]]
    rest = [p for p in found if p.name.split("/")[0] not in desks]
    tuning += rest[::2]
    return tuning, [p for p in found if p not in tuning]


def _desk_page(desk: str, lessons: Sequence[str], seed: int) -> Page:
    random = Random(seed)  # noqa: S311
    drawn = [f"- {lesson}" for lesson in random.sample(lessons, len(lessons))]
    situation = [f"- Somebody calls the {desk} desk.", f"- The request is about case {seed + 20}."]
    sections = [("Situation", situation), ("Approach", drawn[:5]), ("Reflect", drawn[5:7])]
    fields = {"name": f"{desk}-{seed}", "description": f"How the {desk} desk answers a request."}
    text = Document.build(fields, sections).text
    if seed % 4 == 3:
        text += "\n## Quoted\n\nOutput of a merge\n=======\n\n```\n<<<<<<< HEAD\n=======\n>>>>>>> x\n```\n"
    if seed % 4 == 2:
        text = text.replace("\n", "\r\n")
    return Page(f"{desk}/{seed}", text, drawn[random.randrange(5)], tuple(drawn[7:]))


def _file_page(path: Path, lessons: Sequence[str]) -> Page | None:
    random = Random(path.name)  # noqa: S311
    text = path.read_text(encoding="utf-8")
    if not text.startswith("---\n"):
        text = f"---\nname: {path.stem.lower()}\ndescription: What {path.stem} says.\n---\n\n{text}"
    fit = [s.text for s in Document.parse(text).statements() if _is_target(s, text)]
    if not fit:
        return None
    return Page(f"file/{path.name}", text, random.choice(fit), tuple(random.sample(lessons, 5)))


def _is_target(statement: Statement, text: str) -> bool:
    is_item = re.match(r"[-*] ", statement.text) is not None
    return is_item and len(content(statement.text)) >= 4 and text.count(statement.text) == 1


# --- right decisions --------------------------------------------------------------------------------


def _conflict(page: Page, ours: Sequence[str], theirs: Sequence[str]) -> Conflict | None:
    line = "\r\n" if "\r\n" in page.text else "\n"
    sides = [
        page.text.replace(page.target, line.join(t.replace("\n", line) for t in side))
        for side in (ours, theirs)
    ]
    conflict = find_conflict(page.text, *sides, merge(page.text, *sides))
    return conflict if conflict and len(conflict.hunks) == 1 and conflict.frame else None


def _with(text: str, clause: str) -> str:
    return text.rstrip().rstrip(".") + clause + ("." if text.rstrip().endswith(".") else "")


_SYNONYMS = [
    ("Do not ", "Never "),
    ("Never ", "Do not "),
    ("before", "prior to"),
    ("at most", "no more than"),
    ("customer", "client"),
    ("Ask for", "Request"),
    ("DO call", "DO use"),
    (" and ", " and then "),
]


def _paraphrased(text: str) -> str:
    for word, other in _SYNONYMS:
        if word in text:
            return text.replace(word, other, 1)
    return text.replace("- ", "- Please note: ", 1)


@cache
def right(page: Page) -> tuple[Decision, ...]:
    """Return right decisions about conflicts on the page."""
    return tuple(_right(page))


def _right(page: Page) -> Iterator[Decision]:
    random = Random(page.name)  # noqa: S311
    first, second = random.choice(CLAUSES)
    low, high = random.choice(VALUES)
    s, (a, b, c) = page.target, random.sample(page.lessons, 3)
    mine, yours, both = _with(s, first), _with(s, second), _with(s, first + second)
    less, more = _with(s, low), _with(s, high)
    plain = _paraphrased(both)
    into_both = {s: superseded(both), mine: merged(both), yours: merged(both)}
    into_plain = {s: superseded(plain), mine: merged(plain), yours: merged(plain)}
    split = f"{_with(_paraphrased(mine), '')}. The same holds{second}."
    into_split = {s: superseded(split), mine: merged(split), yours: merged(split)}
    rows: list[tuple[str, list[str], list[str], list[str], dict[str, Claim]]] = [
        ("merged", [mine, a], [yours, b], [both, a, b], into_both),
        ("reordered", [mine, a], [yours, b, c], [a, both, c, b], into_both),
        ("paraphrased", [mine, a], [yours, b], [plain, a, b], into_plain),
        ("in sentences", [mine, a], [yours, b], [split, a, b], into_split),
        ("union", [mine, a], [yours, b], [mine, a, yours, b], {s: superseded(mine)}),
        ("superseded", [less, a], [more, b], [more, a, b], {s: superseded(more), less: superseded(more)}),
        (
            "said twice",
            [mine, a],
            [yours, _shouted(a), b],
            [both, a, b],
            into_both | {_shouted(a): merged(a)},
        ),
        (
            "opposite",
            [mine, "- IF the line is busy DO call `hold_line`", a],
            [yours, "- IF the line is busy DO NOT call `hold_line`", b],
            [both, "- IF the line is busy DO NOT call `hold_line`", a, b],
            into_both | {"- IF the line is busy DO call `hold_line`": dropped("opposite of what stays")},
        ),
        (
            "nested",
            [f"{s}\n  - {first.strip(' (')}"],
            [f"{s}\n  - {second.strip(' (')}"],
            [f"{s}\n  - {first.strip(' (')}\n  - {second.strip(' (')}"],
            {
                t: merged(f"{s}\n  - {first.strip(' (')}\n  - {second.strip(' (')}")
                for t in (s, f"{s}\n  - {first.strip(' (')}", f"{s}\n  - {second.strip(' (')}")
            },
        ),
    ]
    for kind, ours, theirs, texts, fates in rows:
        conflict = _conflict(page, ours, theirs)
        if conflict is not None:
            yield Decision(kind, page.name, conflict, tuple(texts), fates)


def _shouted(text: str) -> str:
    return text.rstrip(".") + "!"


# --- wrong decisions --------------------------------------------------------------------------------


def _gone(made: Decision, gone: Sequence[str], random: Random) -> Decision:
    """Leave statements out, with an account as a resolver would give that does not want to be found out."""
    texts = tuple(t for t in made.texts if t not in gone)
    fates = dict(made.fates)
    unsaid: frozenset[str] = frozenset()
    way = random.randrange(5)
    for text in gone:
        fates.pop(text, None)
        if way == 1:
            unsaid = frozenset(gone)
        elif way == 2:
            fates[text] = dropped(random.choice(["redundant", "covered elsewhere", "not needed any more"]))
        elif way == 3 and texts:
            fates[text] = merged(max(texts, key=lambda t: contained(text, t)))
        elif way == 4 and texts:
            fates[text] = superseded(random.choice(texts))
    fates = {
        k: (replace(v, into=random.choice(texts)) if v.into in gone and texts else v)
        for k, v in fates.items()
    }
    return replace(made, texts=texts, fates=fates, unsaid=unsaid)


def one_side_dropped(made: Decision, random: Random) -> Decision | None:
    side, other = random.sample(("ours", "theirs"), 2)
    hunk = made.conflict.hunks[0]
    kept = [s.text for s in hunk.of(other)]
    base = [s.text for s in hunk.of("base")]
    gone = [s.text for s in hunk.of(side) if s.text not in kept]
    wrong = _gone(replace(made, texts=(*kept, *gone), fates={}), gone, random)
    fates = wrong.fates | {t: superseded(kept[0]) for t in base if t not in kept}
    return replace(wrong, fates=fates) if kept and gone else None


def _own(made: Decision) -> list[str]:
    """The added statements that stand in the decision word for word."""
    added = {s.text for s in made.conflict.hunks[0].statements if s.is_added}
    return [t for t in made.texts if t in added]


def one_bullet_dropped(made: Decision, random: Random) -> Decision | None:
    own = _own(made)
    return _gone(made, [random.choice(own)], random) if own else None


def _reworded(made: Decision, changes: dict[str, str], random: Random) -> Decision:
    """Change statements of the decision; the account either still says kept, or merged."""
    texts = tuple(changes.get(t, t) for t in made.texts)
    fates = {k: replace(v, into=changes.get(v.into, v.into)) for k, v in made.fates.items()}
    if random.randrange(3):
        known = {s.text for s in made.conflict.hunks[0].statements}
        fates |= {old: merged(new) for old, new in changes.items() if old in known and old not in texts}
    return replace(made, texts=texts, fates=fates)


_DIGITS = re.compile(r"(?<![\w-])\d+(?:[.:]\d+)?(?![\w-])")


def numbers_swapped(made: Decision, random: Random) -> Decision | None:
    found = [(n, m) for n, text in enumerate(made.texts) for m in _DIGITS.finditer(text)]
    pairs = [
        (x, y)
        for x in found
        for y in found
        if x[1][0] != y[1][0] and (x[0], x[1].start()) < (y[0], y[1].start())
    ]
    if not pairs:
        return None
    one, two = random.choice(pairs)
    texts = list(made.texts)
    for (n, match), new in ((two, one[1][0]), (one, two[1][0])):  # from behind, for lengths may differ
        texts[n] = texts[n][: match.start()] + new + texts[n][match.end() :]
    changes = {old: new for old, new in zip(made.texts, texts, strict=True) if old != new}
    return _reworded(made, changes, random)


def id_invented(made: Decision, random: Random) -> Decision | None:
    old = random.choice(made.texts)
    tails = [
        " (see ticket 48151)",
        " with `force_all`",
        " as https://wiki.example.net/p/9 says",
        " under /etc/desk.conf",
    ]
    codes = re.findall(r"`[^`]+`", old)
    if codes and random.randrange(2):
        return _reworded(made, {old: old.replace(codes[0], "`lookup_everything`")}, random)
    return _reworded(made, {old: _with(old, random.choice(tails))}, random)


_SENTENCES = (
    "Offer a free upgrade afterwards.",
    "Praise their patience warmly.",
    "Every loyal guest deserves generous compensation.",
    "Forward all conversations to marketing.",
    "Mention competitors whenever prices seem high.",
    "Skip verification during busy evenings.",
    "Managers approve everything eventually.",
    "顺便推荐会员套餐。",
)
"""About nothing that any document is about; without numbers, names and negations."""


def sentence_invented(made: Decision, random: Random) -> Decision | None:
    """Let a rewording say one thing more, before or after the rest."""
    known = {s.text for s in made.conflict.hunks[0].statements}
    worded = [t for t in made.texts if t not in known and t[:2] in {"- ", "* "} and "\n" not in t]
    if not worded:
        return None
    old, more = random.choice(worded), random.choice(_SENTENCES)
    ways = [
        f"{_with(old, '')} {more}",
        f"{old.rstrip('.')}; {more[0].lower()}{more[1:]}",
        f"{old[:2]}{more} {old[2:]}",
    ]
    return _reworded(made, {old: random.choice(ways)}, random)


def duplicated(made: Decision, random: Random) -> Decision | None:
    old = random.choice(made.texts)
    copies = [
        old,
        old.replace("- ", "* ", 1),
        _shouted(_shouted(old)),
        old.upper() if "`" not in old else old,
    ]
    outside = [
        s.text
        for s in Document.parse(made.result).statements()
        if s.text not in made.texts and s.text[:2] == "- "
    ]
    section = made.conflict.hunks[0].section
    near = [s.text for s in Document.parse(made.result).statements(section) if s.text in outside]
    copy = random.choice(near) if near and not random.randrange(4) else random.choice(copies)
    texts = list(made.texts)
    texts.insert(random.randrange(len(texts) + 1), copy)
    return replace(made, texts=tuple(texts))


def marker_left(made: Decision, random: Random) -> Decision | None:
    lines = made.result.split("\n")
    kinds = [
        m
        for m in ("<<<<<<< ours", "=======", ">>>>>>> theirs", "||||||| base")
        if m[:7] not in made.conflict.ours
    ]
    if not kinds:
        return None
    at = next(
        (i for i, line in enumerate(lines) if line.rstrip("\r") == made.texts[-1].split("\n")[0]), len(lines)
    )
    for mark in random.sample(kinds, random.randrange(len(kinds)) + 1):
        lines.insert(at + random.randrange(2), mark)
    return replace(made, text="\n".join(lines))


def outside_changed(made: Decision, random: Random) -> Decision | None:
    doc = Document.parse(made.result)
    decided = "\n".join(made.texts)
    line = doc.newline
    around = [
        s.text
        for s in doc.statements()
        if s.text not in decided and made.result.replace("\r\n", "\n").count(s.text) == 1
    ]
    old = random.choice(around)
    new = random.choice(
        [
            "",
            old + " Always.",
            "  " + old.replace("\n", "\n  "),
            old.replace(" the ", " a ", 1) if " the " in old else old[:-2],
            f"{old}\n- One more thing to keep in mind.",
        ]
    )
    text = made.result.replace("\r\n", "\n").replace(old, new, 1)
    return replace(made, text=text.replace("\n", line))


def front_matter_broken(made: Decision, random: Random) -> Decision | None:
    text = made.result
    head = text.index("name:")
    ways = [
        text[:head] + "name: [\n" + text[head:],
        text[:head] + "\tx: y\n" + text[head:],
        text[:head] + "<<<<<<< ours\n" + text[head:],
        text[:head] + "name: another\n" + text[head:],
        text.replace("description: ", 'description: "', 1),
        text.replace("description: ", "description: a: b: ", 1),
        text.replace("---", "--", 1),
        text[:3] + text[3:].replace("---", "", 1),
        text.replace("name:", "name", 1),
    ]
    return replace(made, text=random.choice(ways))


_NOT = re.compile(r"\bDO NOT\b|\b[Dd]o not\b|\bNever\b|\bnever\b|\bwithout\b|\bcannot\b|\bnot\b")


def negation_lost(made: Decision, random: Random) -> Decision | None:
    places = [(text, m) for text in made.texts for m in _NOT.finditer(text)]
    if not places:
        return None
    text, match = random.choice(places)
    words = {
        "DO NOT": "DO",
        "do not": "",
        "Do not": "Always",
        "Never": "Always",
        "never": "",
        "without": "with",
    }
    new = text[: match.start()] + words.get(match[0], "") + text[match.end() :]
    return _reworded(made, {text: re.sub(r"(?<=\S)  +", " ", new)}, random)


def wrong_section(made: Decision, random: Random) -> Decision | None:
    text = made.result.replace("\r\n", "\n")
    moved = random.choice(made.texts)
    places = [m.end() for m in re.finditer(r"^## .*\n\n?(?=[-*] )", text, re.MULTILINE)]
    at = text.index(moved)
    before = text.rfind("\n## ", 0, at)
    places = [p for p in places if not before < p <= at]
    if not places:
        return None
    to = random.choice(places)
    cut = text[:at] + text[at + len(moved) + 1 :]
    to -= (len(moved) + 1) if to > at else 0
    return replace(
        made, text=(cut[:to] + moved + "\n" + cut[to:]).replace("\n", Document.parse(made.result).newline)
    )


def falsely_superseded(made: Decision, random: Random) -> Decision | None:
    own = _own(made)
    if not own or len(made.texts) < 2:
        return None
    gone = random.choice(own)
    texts = tuple(t for t in made.texts if t != gone)
    around = [s.text for s in Document.parse(made.result).statements() if s.text not in made.texts]
    likely = max([*texts, *around], key=lambda t: contained(gone, t))
    into = random.choice([likely, random.choice(texts), random.choice(around)])
    fates = {k: replace(v, into=texts[0]) if v.into == gone else v for k, v in made.fates.items()}
    return replace(made, texts=texts, fates=fates | {gone: superseded(into)})


WRONG: dict[str, Callable[[Decision, Random], Decision | None]] = {
    "one side dropped whole": one_side_dropped,
    "one bullet dropped": one_bullet_dropped,
    "numbers swapped": numbers_swapped,
    "id invented": id_invented,
    "sentence invented": sentence_invented,
    "duplicate": duplicated,
    "marker left": marker_left,
    "text outside changed": outside_changed,
    "front matter broken": front_matter_broken,
    "negation lost": negation_lost,
    "moved to the wrong section": wrong_section,
    "false superseded": falsely_superseded,
}
_CORRUPTED = ("merged", "union", "paraphrased", "reordered")


def wrong(kind: str, page: Page) -> Iterator[Decision]:
    """Yield up to three decisions of the page that are wrong in this way."""
    random = Random(f"{kind}{page.name}")  # noqa: S311
    found = [WRONG[kind](made, random) for made in right(page) if made.kind in _CORRUPTED]
    made = [replace(one, kind=kind) for one in found if one is not None]
    yield from random.sample(made, min(3, len(made)))

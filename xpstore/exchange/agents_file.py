"""AGENTS.md and CLAUDE.md: files that an agent reads whole, with a block of a store's pages in it.

    <!-- xpstore:begin store=<id> xp-digest=<16 hex digits> -->
    …
    <!-- xpstore:page {"name": "refund-order"} -->

    ## refund-order
    …
    <!-- xpstore:end store=<id> -->

What stands outside of the block is never touched. A block that a person has changed is not written over. The
headings of a page go down by one, so that the page has one above them; where that cannot be undone (a page
with a heading of another kind), they stay as they are and the page's mark says so. A fenced block that never
ends in its page is ended, so that it swallows nothing below, and the mark says that too.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore.errors import FormatError, RefusedError
from xpstore.exchange.page import Page
from xpstore.exchange.stamp import BLANK, HEX, is_intact, stamped
from xpstore.names import check_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

INTRODUCTION = (
    "What was learned from earlier tasks. Read what fits the task before you begin. `xp export` writes this"
    " block: change the pages in their store, not here."
)
MARK = "<!-- xpstore:"
_BEGIN = re.compile(r"(?:^|\A\ufeff)(<!-- xpstore:begin store=([0-9A-Za-z_-]{1,64})\b.*)$", re.MULTILINE)
_STAMP = re.compile(rf"\A<!-- xpstore:begin store=[0-9A-Za-z_-]+ xp-digest={HEX} -->$", re.MULTILINE)
_PAGE = re.compile(r"^<!-- xpstore:page (\{.*\}) -->\n", re.MULTILINE)
_H1_TO_H5 = re.compile(r"#{2,5}(?!#)")
_ANY_H1_H6 = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_FENCE = re.compile(r" *(`{3,}(?=[^`]*$)|~{3,})")
_NO_PARAGRAPH = ("#", "```", "~~~", "<!--")
"""How a description begins that would be more than a paragraph: it stays in the mark."""


@dataclass(frozen=True, slots=True)
class Block:
    """A store's block in a file: text[start:end], here with LF."""

    store: str
    start: int
    end: int
    text: str

    @property
    def is_intact(self) -> bool:
        """Whether it is as it was written."""
        return is_intact(self.text, _STAMP)


def can_hold(page: Page) -> bool:
    """Say whether a block can have the page: one with the marks of a block in it would break it."""
    return MARK not in page.body and MARK not in page.description


def render(pages: Sequence[Page], store: str) -> str:
    """Return the block with these pages; the same pages give the same bytes."""
    begin = f"{MARK}begin store={store} xp-digest={BLANK} -->\n"
    parts = [f"\n{INTRODUCTION}\n", *map(_render, pages)]
    return stamped(f"{begin}{''.join(parts)}\n{MARK}end store={store} -->\n", _STAMP)


def _render(page: Page) -> str:
    shifted = _shifted(page.body)
    head: dict[str, object] = {"name": page.name}
    front = {key: value for key, value in page.front.items() if key != "name"}
    described = front.get("description") == page.description
    described = described and not page.description.startswith(_NO_PARAGRAPH)
    if described:
        del front["description"]
    head |= {"front": front} if front else {}
    head |= {"described": True} if described else {}
    head |= {"headings": "as they were"} if shifted is None else {}
    fence = _open_fence(page.body)
    head |= {"ended": fence} if fence else {}
    mark = json.dumps(head, ensure_ascii=False).replace("--", "-\\u002d")  # the end of a comment
    description = f"{page.description}\n\n" if described else ""
    body = f"{page.body if shifted is None else shifted}\n" if page.body else ""
    body += f"{fence}\n" if fence else ""
    return f"\n{MARK}page {mark} -->\n\n## {page.name}\n\n{description}{body}"


def _shifted(body: str) -> str | None:
    """Return the body with every heading a level lower; None where that could not be undone."""
    lines: list[str] = []
    before = ""
    for line, is_code, _ in _with_code(body):
        heading = None if is_code else _ANY_H1_H6.match(line)
        if heading and not _H1_TO_H5.match(line):  # a title, the lowest level, or one that is indented
            return None
        if not is_code and before.strip() and _UNDERLINE.fullmatch(line):
            return None
        lines.append(f"#{line}" if heading else line)
        before = "" if is_code or heading else line
    return "\n".join(lines)


def _raised(body: str) -> str:
    return "\n".join(
        line[1:] if not is_code and _ANY_H1_H6.match(line) else line for line, is_code, _ in _with_code(body)
    )


def _open_fence(body: str) -> str:
    """Return the fence, at the left margin, of a block that never ends; "" where there is none."""
    fence = ""
    for _, _, fence in _with_code(body):  # noqa: B007  # the last one counts
        pass
    return "" if fence.startswith(" ") else fence


def _with_code(body: str) -> Iterator[tuple[str, bool, str]]:
    """Yield the lines, whether each stands in a fenced block, and the fence that is open below it."""
    fence = ""
    for line in body.split("\n"):
        match = _FENCE.match(line)
        is_code = bool(fence or match)
        if not fence:
            fence = match[0] if match else ""
        elif match and match[1].startswith(fence.strip()) and not line.strip().strip(fence[-1]):
            fence = ""
        yield line, is_code, fence


def blocks(text: str, where: str) -> list[Block]:
    """Return the blocks of a file, in order. Raises FormatError for one that does not end."""
    found: list[Block] = []
    at = 0
    while begin := _BEGIN.search(text, at):
        last = rf"^<!-- xpstore:end store={begin[2]} -->[ \t\r]*(?:\n|\Z)"
        end = re.compile(last, re.MULTILINE).search(text, begin.end())
        if end is None:
            raise FormatError(
                f"{where}: the block of the store {begin[2]} has no end",
                hint=f"put `{MARK}end store={begin[2]} -->` below it, or take the block out",
            )
        at = end.end()
        plain = text[begin.start(1) : at].replace("\r\n", "\n")
        found.append(Block(begin[2], begin.start(1), at, plain))
    return found


def placed(text: str, block: str, store: str, where: str, *, force: bool = False) -> str:
    """Return a file with a block in the place of the store's former one, or at the end.

    Line ends stay as they are in the file. Raises RefusedError where a person has changed the former block
    (not with `force`), and where there are two; FormatError as `blocks`.
    """
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    placing = block.replace("\n", newline)
    mine = [b for b in blocks(text, where) if b.store == store]
    if len(mine) > 1:
        raise RefusedError(f"{where} has two blocks of this store", hint="take one of them out")
    if not mine:
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        return f"{text}{gap}{placing}"
    if mine[0].text.rstrip("\n") == block.rstrip("\n"):
        return text
    if not (mine[0].is_intact or force):
        raise RefusedError(
            f"the block in {where} was changed by hand, and would be lost",
            hint="bring the change into the store's pages (xp init --from reads it), then --force",
        )
    return f"{text[: mine[0].start]}{placing}{text[mine[0].end :]}"


def read(block: Block, where: str) -> list[Page]:
    """Return the pages of a block. Raises FormatError, InvalidNameError."""
    marks = list(_PAGE.finditer(block.text))
    ends = [*(mark.start() for mark in marks[1:]), block.text.rindex(f"{MARK}end ")]
    return [
        _read(mark[1], block.text[mark.end() : end], where) for mark, end in zip(marks, ends, strict=True)
    ]


def _read(mark: str, text: str, where: str) -> Page:
    try:
        head = json.loads(mark)
        name, front = check_name(str(head["name"])), dict(head.get("front") or {})
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(f"{where}: the mark of a page cannot be read: {mark[:80]}") from error
    lines = text.strip("\n").split("\n")
    if lines[0] == f"## {name}":
        lines = lines[1:]
    body = "\n".join(lines).strip("\n")
    if head.get("described"):
        description, _, body = body.partition("\n")
        front = {"description": description, **front}
    body = body.strip("\n")
    if head.get("ended"):
        body = body.removesuffix(str(head["ended"])).rstrip("\n")
    return Page(name, front, body if head.get("headings") else _raised(body))

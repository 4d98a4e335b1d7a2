"""Commit messages: subject, prose, trailers. Prose comes from models and must never act as anything else.

`git am` executes an unindented `diff --git` of a message, and a forged `Plan-Id:` line would make a commit
look like a plan. So lines of the prose that a program would act on are indented by two spaces.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PLAN_ID = "Plan-Id"

# What `git am`, `git apply`, mailsplit, unidiff and commit-message clean-up act on at a line's start, and
# every line that looks like a trailer of this program.
_ACTIVE = re.compile(
    r"diff -|Index:|---|\+\+\+ |@@ |-- $|>?From |#|GIT binary patch|(?i:from|subject|date|plan|store|learner"
    r"|rollouts|suspect|[a-z]+(?:-[a-z]+)+)[ \t]*:"
)
_TRAILER = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*:[ \t]*(.*)")
_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_PLAN_LINE = re.compile(rf"^{PLAN_ID}[ \t]*:[ \t]*([0-9a-f]+)[ \t]*\r?$", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")


def quote(text: str) -> str:
    """Return prose with every line indented that git or this program would act on."""
    clean = _CONTROL.sub(" ", text.replace("\r\n", "\n")).strip("\n")
    return "\n".join(_quoted(line.rstrip()) for line in clean.split("\n"))


def format_message(subject: str, body: str, trailers: Sequence[tuple[str, str]]) -> str:
    """Return the commit message; the trailers are its last paragraph, in the order given.

    Raises ValueError for a trailer key that git would not read.
    """
    title = " ".join(_CONTROL.sub(" ", subject).split()) or "Update experiences"
    paragraphs = [_quoted(title).lstrip() if not title.startswith("#") else f"No. {title[1:].lstrip()}"]
    prose = quote(body)
    if prose:
        paragraphs.append(prose if trailers else _no_trailers(prose))
    if trailers:
        paragraphs.append("\n".join(_line(key, value) for key, value in trailers))
    return "\n\n".join(paragraphs) + "\n"


def parse_trailers(message: str) -> dict[str, tuple[str, ...]]:
    """Return the trailers of the last paragraph, by key in order of appearance, folded lines joined.

    A paragraph with any other line in it is prose, unless it holds a `Plan-Id`.
    """
    lines = _last_paragraph(message)
    found: list[tuple[str, str]] = []
    foreign = 0
    for line in lines:
        match = _TRAILER.fullmatch(line)
        if match:
            found.append((match[1], match[2].strip()))
        elif found and line[:1] in (" ", "\t"):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}".strip())
        elif not line.startswith("(cherry picked from commit "):
            foreign += 1
    if foreign and all(key != PLAN_ID for key, _ in found):
        return {}
    result: dict[str, tuple[str, ...]] = {}
    for key, value in found:
        result[key] = (*result.get(key, ()), value)
    return result


def plan_ids(message: str) -> tuple[str, ...]:
    """Return the ids of all `Plan-Id:` lines below the subject, each once: a squash leaves several."""
    _, _, rest = message.partition("\n")
    return tuple(dict.fromkeys(_PLAN_LINE.findall(rest)))


def _quoted(line: str) -> str:
    return f"  {line}" if _ACTIVE.match(line) else line


def _no_trailers(prose: str) -> str:
    head, gap, last = prose.rpartition("\n\n")
    lines = [f"  {line}" if _TRAILER.match(line) else line for line in last.split("\n")]
    return head + gap + "\n".join(lines)


def _line(key: str, value: str) -> str:
    if not _TOKEN.fullmatch(key):
        raise ValueError(f"not a trailer key: {key!r}")
    return f"{key}: {' '.join(_CONTROL.sub(' ', value).split())}".rstrip()


def _last_paragraph(message: str) -> list[str]:
    lines = [line.rstrip("\r") for line in message.rstrip().split("\n")]
    start = len(lines)
    while start and lines[start - 1].strip():
        start -= 1
    return lines[start:] if start else []

"""The message of a commit: what it says of plans must be something that history can be read by.

A person's commit needs no trailers at all. But a line that looks like one of ours makes a commit a plan's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hooks.remark import Remark
from xpstore import gitcli
from xpstore.errors import UsageError
from xpstore.trailers import PLAN_ID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from xpstore.git import Repo

_CUT = re.compile(r"^. -+ >8 -+$", re.MULTILINE)
_LINE = re.compile(r"([A-Za-z][A-Za-z-]*)[ \t]*:[ \t]*(.*?)[ \t]*\r?")
_ID = (re.compile("[0-9a-f]{12,64}"), "an id of hexadecimal digits")
_COMMIT = (re.compile("[0-9a-f]{40}"), "the full id of a commit")
_FORMS = {
    PLAN_ID: _ID,
    "Plan-Digest": _ID,
    "Base-Commit": _COMMIT,
    "Reverts-Plan": _ID,
    "Rollouts": (re.compile(r"\d+ passed=\d+"), "`8 passed=3`"),
}
"""What the trailers look like that are read by programs; the others are for people."""
_ONCE = frozenset({"Plan-Digest", "Base-Commit", "Rollouts"})
"""Trailers that a plan has once; a squash has several plans, each begins with its Plan-Id."""


def check(repo: Repo, file: Path) -> list[Remark]:
    """Return what is wrong with the trailers of a message that git has written to a file.

    Raises UsageError where it cannot be read.
    """
    try:
        text = file.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        why = f"the message in {file} cannot be read: {error.strerror or error}"
        raise UsageError(why, hint="git starts commit-msg with the name of its file") from error
    data = _CUT.split(text, maxsplit=1)[0]
    done = gitcli.attempt(
        repo.place, ["stripspace", "--strip-comments"], stdin=data.encode("utf-8", "replace")
    )
    return list(_check(done.out.decode("utf-8", "replace")))


def _check(message: str) -> Iterator[Remark]:
    lines = message.partition("\n")[2].split("\n")
    fields = [(match[1], match[2]) for line in lines if (match := _LINE.fullmatch(line))]
    is_plan = any(key == PLAN_ID for key, _ in fields)
    if not is_plan:
        for key in sorted(
            {key for key, _ in fields if key.lower() == PLAN_ID.lower() or key == "Plan-Digest"}
        ):
            yield Remark(f"the message has {key} and no {PLAN_ID}", _HINT)
        return
    seen: set[str] = set()
    for key, value in fields:
        if key == PLAN_ID:
            seen = set()
        if key in _FORMS and not _FORMS[key][0].fullmatch(value):
            yield Remark(f"{key} is {value!r}; it must be {_FORMS[key][1]}", _HINT)
        elif key in _ONCE & seen:
            yield Remark(f"{key} is there twice for one plan", _HINT)
        seen.add(key)


_HINT = "xp writes these lines; take them out of a message of your own, or indent them"

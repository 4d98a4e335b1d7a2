r"""A gradient as a patch file that people, `git apply` and `git am` read. The only user of unidiff.

    From <base commit> Mon Sep 17 00:00:00 2001      mailbox header: neutral author, fixed date
    Subject: [PATCH] Update <experience>
                                                     one blank line, then the fields, one per line
    Gradient-Id: …
        the rationale, indented: `git am` executes an unindented diff in prose
    ---
    diff --git a/experiences/<experience>.md …       whole file as context, `\ No newline` markers
    --
    xpstore

The diff has the whole file as context, so that before and after rebuild from the patch alone. `git am` needs
`--keep-cr` for files with CR.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from pydantic import ValidationError
from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from xpstore.errors import FormatError, InvalidNameError
from xpstore.experience import MemoryFile, experience_uri
from xpstore.gradient import PatchSemanticGradient
from xpstore.names import check_name

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_COMMIT = "0" * 40
_NO_NEWLINE = "\\ No newline at end of file\n"
_INDENT = "    "
_HINT = "the patch was changed after it was written; take it from the evidence branch again"
_FROM = re.compile(r"From ([0-9a-f]{40,64}) Mon Sep 17 00:00:00 2001")
_PLAIN = re.compile(r'[^\s"\x00-\x1f\x7f][^\s\x00-\x1f\x7f]*')


def write_patch(gradient: PatchSemanticGradient) -> bytes:
    """Return the patch file. Raises FormatError: no change, a rename, a bad name, bad Unicode."""
    name = gradient.target_experience_name
    before = gradient.before_file.content if gradient.before_file else None
    after = gradient.after_file.content if gradient.after_file else None
    if before == after:
        raise FormatError(f"the gradient for {name} changes nothing", hint="drop it")
    if gradient.before_file and gradient.before_file.name != name:
        raise FormatError(
            f"the gradient renames {gradient.before_file.name} to {name}",
            hint="delete one experience, create the other",
        )
    if check_name(name) != name:
        raise FormatError(f"the name {name!r} is not in NFC", hint="pass it through check_name first")
    text = "".join([*_mail_header(gradient), *_fields(gradient), "---\n", *_diff(gradient), "-- \nxpstore\n"])
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise FormatError(
            f"the gradient for {name} is not valid Unicode: {error.reason}", hint="clean the text"
        ) from error


def read_patch(data: bytes, where: str) -> PatchSemanticGradient:
    """Return the gradient that `write_patch` wrote. Raises FormatError, also where ids do not match."""
    try:
        head = _Head.read(data.decode())
        before, after = _contents(head)
        gradient = _gradient(head, before, after)
        told = {key: head.one(key) for key in ("Gradient-Id", "Base-Blob", "Result-Blob")}
    except (ValueError, LookupError, RecursionError, UnidiffParseError, InvalidNameError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error).split("\n", 1)[0]
        raise FormatError(f"{where}: not a patch of this program: {reason}", hint=_HINT) from error
    found = {"Gradient-Id": gradient.id, "Base-Blob": gradient.base_blob, "Result-Blob": gradient.result_blob}
    for key, value in found.items():
        if told[key] != value:
            raise FormatError(f"{where}: {key} is {told[key]}, but the content has {value}", hint=_HINT)
    return gradient


def _mail_header(gradient: PatchSemanticGradient) -> Iterator[str]:
    verb = (
        "Update"
        if gradient.before_file and gradient.after_file
        else "Add"
        if gradient.after_file
        else "Delete"
    )
    yield f"From {gradient.base_commit or _NO_COMMIT} Mon Sep 17 00:00:00 2001\n"
    yield "From: xpstore <xpstore@xpstore.invalid>\n"
    yield "Date: Thu, 1 Jan 1970 00:00:00 +0000\n"
    yield f"Subject: [PATCH] {verb} {gradient.target_experience_name}\n"
    yield "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n"


def _fields(gradient: PatchSemanticGradient) -> Iterator[str]:
    yield f"Gradient-Id: {gradient.id}\n"
    yield f"Target: {gradient.target_experience_uri}\n"
    yield f"Base-Commit: {gradient.base_commit or _NO_COMMIT}\n"
    yield f"Base-Blob: {gradient.base_blob}\n"
    yield f"Result-Blob: {gradient.result_blob}\n"
    if gradient.base_version is not None:
        yield f"Base-Version: {gradient.base_version}\n"
    yield f"Confidence: {json.dumps(gradient.confidence)}\n"
    for key, values in (
        ("Evidence", gradient.evidence_trajectory_uris),
        ("Rollouts", gradient.rollouts),
        ("Supersedes", gradient.supersedes),
    ):
        yield from (f"{key}: {_word(value)}\n" for value in values)
    yield f"Metadata: {json.dumps(gradient.metadata, ensure_ascii=False, sort_keys=True)}\n\n"
    yield from (f"{_INDENT}{line}\n" for line in gradient.rationale.split("\n"))


def _word(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else json.dumps(value)


def _unword(value: str) -> str:
    return str(json.loads(value)) if value.startswith('"') else value


def _diff(gradient: PatchSemanticGradient) -> Iterator[str]:
    path = gradient.target_experience_uri
    before, after = gradient.before_file, gradient.after_file
    yield f"diff --git a/{path} b/{path}\n"
    if before is None:
        yield "new file mode 100644\n"
    if after is None:
        yield "deleted file mode 100644\n"
    mode = " 100644" if before and after else ""
    yield f"index {gradient.base_blob}..{gradient.result_blob}{mode}\n"
    old, new = _lines(before), _lines(after)
    if not old and not new:
        return  # an empty file comes or goes: git writes no hunk either
    yield f"--- a/{path}\n" if before else "--- /dev/null\n"
    yield f"+++ b/{path}\n" if after else "+++ /dev/null\n"
    yield f"@@ -{_range(old)} +{_range(new)} @@\n"
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (_diff_line(" ", line) for line in old[a:b])
        else:
            yield from (_diff_line("-", line) for line in old[a:b])
            yield from (_diff_line("+", line) for line in new[c:d])


def _lines(file: MemoryFile | None) -> list[str]:
    lines = file.content.split("\n") if file else [""]
    last = lines.pop()
    return [*(line + "\n" for line in lines), *([last] if last else [])]


def _range(lines: list[str]) -> str:
    return f"{1 if lines else 0},{len(lines)}"


def _diff_line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}"


@dataclass(frozen=True, slots=True)
class _Head:
    """The parts of a patch file, not yet checked against each other."""

    base_commit: str
    fields: dict[str, list[str]]
    rationale: str
    diff: str

    @classmethod
    def read(cls, text: str) -> _Head:
        mail, gap, rest = text.partition("\n\n")
        start = _FROM.match(mail)
        fields, gap2, rest = rest.partition("\n\n")
        prose, rule, diff = rest.partition("\n---\n")
        if not (start and gap and gap2 and rule):
            raise ValueError("a part is missing")
        rationale = [line.removeprefix(_INDENT) for line in prose.split("\n")]
        values: dict[str, list[str]] = {}
        for line in fields.split("\n"):
            key, _, value = line.partition(": ")
            values.setdefault(key, []).append(value)
        return cls(start[1], values, "\n".join(rationale), diff)

    def one(self, key: str) -> str:
        return self.fields[key][0]

    def words(self, key: str) -> tuple[str, ...]:
        return tuple(_unword(value) for value in self.fields.get(key, ()))


def _contents(head: _Head) -> tuple[str | None, str | None]:
    files = PatchSet(head.diff)
    if len(files) != 1 or len(files[0]) > 1:
        raise ValueError("it does not change exactly one whole file")
    sides: dict[str, list[str]] = {"-": [], "+": []}
    last = ""
    for line in files[0][0] if files[0] else ():
        if line.line_type == "\\":
            for sign in sides if last == " " else (last,):
                sides[sign][-1] = sides[sign][-1].removesuffix("\n")
            continue
        last = line.line_type
        for sign in sides if last == " " else (last,):
            sides[sign].append(line.value)
    before = None if head.one("Base-Blob") == _NO_COMMIT else "".join(sides["-"])
    after = None if head.one("Result-Blob") == _NO_COMMIT else "".join(sides["+"])
    return before, after


def _gradient(head: _Head, before: str | None, after: str | None) -> PatchSemanticGradient:
    target = head.one("Target")
    name = check_name(target.rpartition("/")[2].removesuffix(".md"))
    if target != experience_uri(name) or f" b/{target}\n" not in head.diff:
        raise ValueError("Target and diff name different files")
    versions = head.fields.get("Base-Version")
    try:
        return PatchSemanticGradient(
            before_file=None if before is None else MemoryFile(name=name, content=before),
            after_file=None if after is None else MemoryFile(name=name, content=after),
            base_commit=None if head.base_commit == _NO_COMMIT else head.base_commit,
            base_version=int(versions[0]) if versions else None,
            rationale=head.rationale,
            evidence_trajectory_uris=head.words("Evidence"),
            rollouts=head.words("Rollouts"),
            confidence=float(head.one("Confidence")),
            supersedes=head.words("Supersedes"),
            metadata=json.loads(head.one("Metadata")),
        )
    except ValidationError as error:
        raise ValueError(f"bad fields: {error.errors()[0]['msg']}") from error

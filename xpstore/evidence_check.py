"""Is the evidence what it was? Every file against its name, and the branch against what it was before.

A file's name is the hash of its content, so altered content shows. What may go missing is what nobody
cites; so every clone also remembers the last tip of the branch that it wrote or checked (`remember`): a tip
whose history no longer has that commit was rewritten, unless a higher generation records an `xp forget`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xpstore import evaluation, evidence, gate_record, gitcli, layout, note, salvage, witness
from xpstore.errors import FormatError, XpError
from xpstore.hashing import canonical_json, content_id
from xpstore.patchfile import read_patch

if TYPE_CHECKING:
    from xpstore.gradient import PatchSemanticGradient
    from xpstore.location import Location

_ID_FILE = re.compile(r"(rollouts|cases)/../([0-9a-f]+)\.json")
_EVENT_FILE = re.compile(r"ledger/../[0-9a-f]+/([0-9a-f]+)\.json")
_NOTE_FILE = re.compile(r"trajectories/../([0-9a-f]+)\.md")
_GATE_FILE = re.compile(r"gates/../([0-9a-f]+)\.json")
_SIGNATURE_FILE = re.compile(r"gates/../[0-9a-f]+\.([0-9a-f]+)\.sig")
_EVALUATION_FILE = re.compile(r"evaluations/../([0-9a-f]+\.[0-9a-f]+)\.json")


@dataclass(slots=True)
class Evidence:
    """The files of the evidence branch, each checked when first asked for."""

    loc: Location
    files: dict[str, str]
    """Path → blob id."""
    checked: dict[str, str] = field(default_factory=dict)
    gradients: dict[str, PatchSemanticGradient] = field(default_factory=dict)
    _order: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, loc: Location) -> Evidence:
        """List the evidence branch; none = no files."""
        tip = evidence.tip(loc)
        return cls(loc, dict(loc.repo.files(loc.repo.commit(tip).tree)) if tip else {})

    def problem(self, path: str) -> str:
        """Return what is wrong with a file; "" where it is there and what its name says."""
        if path not in self.checked:
            self.checked[path] = self._check(path)
        return self.checked[path]

    def is_forgotten(self, item_id: str) -> bool:
        """Return whether a rollout or note was removed by `xp forget`."""
        return layout.tombstone_path(item_id) in self.files

    def read(self, path: str) -> bytes:
        """Return a file's bytes. Raises KeyError where there is none."""
        return self.loc.repo.blob(self.files[path])

    def json(self, path: str) -> dict[str, object]:
        """Return the object in a file. Raises KeyError where there is none, FormatError."""
        return evidence.parse_json(self.read(path), path)

    def gradient(self, path: str) -> PatchSemanticGradient:
        """Return the gradient of a patch, ids and blobs checked. Raises KeyError, FormatError."""
        if path not in self.gradients:
            self.gradients[path] = read_patch(self.read(path), path)
        return self.gradients[path]

    def below(self, folder: str) -> list[str]:
        """Return the paths below a folder, sorted."""
        if len(self._order) != len(self.files):
            self._order = sorted(self.files)
        # "0" follows "/" in every encoding
        return self._order[bisect_left(self._order, f"{folder}/") : bisect_left(self._order, f"{folder}0")]

    def _check(self, path: str) -> str:
        if path not in self.files:
            return f"{path} is missing in the evidence branch"
        if not layout.is_evidence(path):
            return f"{path} is no evidence: no file of it is called so"
        try:
            found = self._named(path)
            if path.endswith(".json") and not found:
                canonical_json(self.json(path)).decode()
        except UnicodeDecodeError:
            return f"{path} cannot be read: half of a character (a lone surrogate) stands in it"
        except XpError as error:
            return f"{path} was altered: {error.message.removeprefix(f'{path}: ')}"
        except (ValueError, RecursionError) as error:  # infinity, surrogates: nothing that we write
            return f"{path} was altered: {error}"
        return f"{path} was altered: its content has the id {found}" if found else ""

    def _named(self, path: str) -> str:
        """Return the id that the content has, where it is not the one in the name."""
        if match := _ID_FILE.fullmatch(path):
            found = content_id(self.json(path))
            return "" if found == match[2] else found
        if match := _EVENT_FILE.fullmatch(path):
            found = content_id(self.json(path))
            return "" if found == match[1] else found
        if match := _NOTE_FILE.fullmatch(path):
            found = note.from_text(self._text(path), path).id
            return "" if found == match[1] else found
        if match := _EVALUATION_FILE.fullmatch(path):
            record = evaluation.read_record(self.read(path), path)
            found = f"{record.key.id}.{record.id}"
            return "" if found == match[1] else found
        if match := _GATE_FILE.fullmatch(path) or _SIGNATURE_FILE.fullmatch(path):
            is_record = path.endswith(".json")
            found = gate_record.parse(self.read(path), path).id if is_record else content_id(self._text(path))
            return "" if found == match[1] else found
        if path.endswith(".patch"):
            self.gradient(path)
        return ""

    def _text(self, path: str) -> str:
        try:
            return self.read(path).decode()
        except UnicodeDecodeError as error:
            raise FormatError(f"{path} is not UTF-8", hint="see xp verify") from error


def is_absent(loc: Location) -> bool:
    """Whether the evidence branch is not here and never was, as in a clone of a single branch."""
    return evidence.tip(loc) is None and witness.recall(loc) is None


def how_to_fetch(loc: Location) -> str:
    """Say that the evidence branch is not here, and what brings it."""
    branch = loc.evidence_ref.removeprefix(layout.HEADS)
    remotes = sorted(loc.repo.remotes)
    remote = "origin" if "origin" in remotes or not remotes else remotes[0]
    return (
        f"the evidence branch is not in this clone, so no plan can be checked;"
        f" fetch it: git fetch {remote} {branch}:{branch}"
    )


def branch_problems(loc: Location, shelf: Evidence) -> list[str]:
    """Return what is wrong with the branch as a whole: altered files, a history that did not only grow.

    A branch without problems is remembered as the one to compare with next time.
    """
    tip = evidence.tip(loc)
    seen = witness.recall(loc)
    if tip is None:
        return _absent(loc, seen)
    found = [problem for path in sorted(shelf.files) if (problem := shelf.problem(path))]
    found += _shrunk(loc, shelf, tip)
    if seen and not witness.continues(loc, seen, tip):
        found.append(
            f"the evidence branch was rewritten: it was at {seen.tip[:12]}, which its history no longer has"
            f" ({_way_back(loc, seen.tip, '-f ')})"
        )
    elif seen and loc.repo.has(seen.tip) and not loc.repo.is_ancestor(seen.tip, tip):
        found += _lost(loc, shelf, seen.tip)
    if shelf.below("tombstones") and not witness.generation(loc, tip):
        found.append("the evidence branch was rewritten: it has tombstones, but no generation")
    if not found:
        witness.remember(loc, tip)
    return found


def _absent(loc: Location, seen: witness.Seen | None) -> list[str]:
    if seen is None:
        return []
    return [f"the evidence branch is gone; it was at {seen.tip[:12]} ({_way_back(loc, seen.tip, '')})"]


def _way_back(loc: Location, tip: str, force: str) -> str:
    """Say what brings the branch back to a commit; git takes it there also where its files are lost."""
    if salvage.has_files(loc.repo, tip):
        branch = loc.evidence_ref.removeprefix(layout.HEADS)
        return f"git branch {force}{branch} {tip[:12]} brings it back"
    return "it is lost here; xp sync brings it back from a repository that has it"


def _lost(loc: Location, shelf: Evidence, old: str) -> list[str]:
    """Name what a new beginning of the branch left out without a tombstone; a case goes with its rollouts."""
    before = [path for path, _ in loc.repo.files(loc.repo.commit(old).tree)]
    return [
        f"the new beginning of the evidence branch has lost {path}"
        for path in before
        if path not in shelf.files
        and not path.startswith("cases/")
        and not shelf.is_forgotten(layout.subject_of(path))
    ]


def _shrunk(loc: Location, shelf: Evidence, tip: str) -> list[str]:
    """Name what commits of the branch changed or took away; merges are compared with every parent."""
    out = gitcli.run(
        loc.repo.place,
        [
            *("log", "-z", "--diff-merges=separate", "--root", "--no-renames", "--no-ext-diff"),
            *("--diff-filter=MDT", "--name-status", "--format=commit %H", tip),
        ],
    )
    found: list[str] = []
    commit = status = ""
    for token in (t.lstrip("\n") for t in gitcli.records(out)):
        if token.startswith("commit "):
            commit = token.removeprefix("commit ")
        elif not status:
            status = token
        else:
            verb = "removed" if status == "D" else "changed"
            if not shelf.is_forgotten(layout.subject_of(token)):
                found.append(f"the evidence branch did not only grow: commit {commit[:12]} {verb} {token}")
            status = ""
    return found

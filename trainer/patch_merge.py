"""What a merger sees: patches as field diffs, their files, and files that may say the same (RFC §10)."""

from __future__ import annotations

import difflib
import json
import logging
from typing import TYPE_CHECKING, Literal

from pydantic import JsonValue

from trainer.similarity import TextSimilarity
from xpstore.document import Document
from xpstore.experience import MemoryFile, experience_uri
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.similarity import Similarity
    from xpstore.experience import ExperienceSet
    from xpstore.gradient import PatchSemanticGradient
    from xpstore.search import Hit

# Merge input and output go to this logger at DEBUG: off the console unless somebody turns it on (RFC §10.3).
trace = logging.getLogger("xpstore.trace.merge")
SAID = "the pages say already what it teaches"
"""Why an edit changes nothing, where nobody says otherwise."""


class PatchMergePatch(Frozen):
    """One gradient as a merger sees it (RFC §10.1)."""

    before_file: MemoryFile | None
    after_file: MemoryFile | None
    metadata: dict[str, JsonValue] = {}

    @classmethod
    def from_gradient(cls, gradient: PatchSemanticGradient) -> PatchMergePatch:
        """Keep the two files, and of the rest what helps to decide."""
        return cls(
            before_file=gradient.before_file,
            after_file=gradient.after_file,
            metadata={
                "gradient": gradient.id,
                "confidence": gradient.confidence,
                "rationale": gradient.rationale,
                "evidence": list(gradient.evidence_trajectory_uris),
                "supersedes": list(gradient.supersedes),
            },
        )

    @property
    def target(self) -> str:
        """The experience that the patch changes."""
        file = self.after_file or self.before_file
        if file is None:
            raise ValueError("a patch has a file before or after")
        return file.name

    @property
    def gradient(self) -> str:
        """The id of the gradient that it is."""
        return str(self.metadata.get("gradient", ""))

    @property
    def supersedes(self) -> tuple[str, ...]:
        """Older experiences that the patch replaces."""
        names = self.metadata.get("supersedes", [])
        return tuple(str(n) for n in names) if isinstance(names, list) else ()

    def field_diffs(self) -> dict[str, str]:
        """Return a unified diff per field that changed; the body is the field `content`."""
        before, after = _fields(self.before_file), _fields(self.after_file)
        keys = [*after, *(k for k in before if k not in after)]
        return {k: _diff(before.get(k), after.get(k)) for k in keys if before.get(k) != after.get(k)}


class PatchMergeContext(Frozen):
    """Everything a merger may look at."""

    patches: tuple[PatchMergePatch, ...]
    required_files: tuple[MemoryFile, ...]
    """The current files of the targets and of what is superseded."""
    candidate_files: tuple[MemoryFile, ...]
    """Other files that may say the same."""
    near: dict[str, tuple[str, ...]] = {}
    """Target → files, among those above and the patches' own, that may say the same, best first."""
    by_meaning: bool = False
    """Whether those may say it in other words."""
    names: frozenset[str] = frozenset()
    """All pages of the policy: no new one may take such a name."""
    schema_: dict[str, JsonValue] = {}
    """JSON schema of `MergeOperation`, for mergers that ask a model."""

    def current(self, name: str) -> str | None:
        """Return the text of a required file as it is now, or None."""
        return next((f.content for f in self.required_files if f.name == name), None)

    def render(self) -> str:
        """Return the context as text, as it is traced and as a model would read it."""
        lines: list[str] = []
        for file in (*self.required_files, *self.candidate_files):
            lines += [f"# File {file.uri}", file.content]
        for number, patch in enumerate(self.patches, 1):
            lines.append(f"# Patch {number}: {experience_uri(patch.target)}")
            for field, diff in patch.field_diffs().items():
                lines += [f"## Field Diff: {field}", diff]
        return "\n".join(lines)


class MergedStatement(Frozen):
    """What became of a statement that a merger did not leave where it was."""

    page: str
    text: str
    fate: Literal["kept", "merged", "superseded", "dropped"]
    """Kept: on another page."""
    into: str = ""
    """The page where it is kept, or the statement that says it or replaces it."""
    reason: str = ""
    gradients: tuple[str, ...] = ()
    """Ids of the gradients that added it or took it out."""


class MergeOperation(Frozen):
    """One file to write or delete."""

    kind: Literal["upsert", "delete"]
    name: str
    content: str | None = None
    """The whole new text; None for a deletion."""
    reason: str = ""
    gradients: tuple[str, ...] = ()
    """Ids of the gradients that it comes from, beyond those that have its name as target."""
    account: tuple[MergedStatement, ...] = ()


class MergeRefusal(Frozen):
    """A target whose edits could not be merged; it stays as it is."""

    name: str
    reason: str


class MergeOutcome(Frozen):
    """What a merger decided."""

    operations: tuple[MergeOperation, ...] = ()
    refused: tuple[MergeRefusal, ...] = ()
    fallbacks: tuple[MergeRefusal, ...] = ()
    """Targets that a model was asked about, and that were merged without it, and why."""
    idle: dict[str, str] = {}
    """Id of a gradient that changes nothing, as a model decided → why."""


class PatchMergeContextProvider:
    """Collects what a merger needs to see (RFC §10.2)."""

    def __init__(
        self,
        patches: Sequence[PatchMergePatch],
        policy_set: ExperienceSet,
        similarity: Similarity | None = None,
    ) -> None:
        self._patches = tuple(patches)
        self._set = policy_set
        self._similarity = similarity or TextSimilarity()

    async def prefetch(self) -> PatchMergeContext:
        """Return the required files first, then at most max(5, required) similar ones."""
        names = list(dict.fromkeys(n for p in self._patches for n in (p.target, *p.supersedes)))
        required = [MemoryFile(name=n, content=x.text) for n in names if (x := self._set.get(n))]
        limit = max(5, len(required))
        near = await self._near(limit * 2)  # the required ones are among the hits (RFC §10.2)
        scores: dict[str, float] = {}
        for hit in (hit for hits in near.values() for hit in hits if hit.name not in names):
            scores[hit.name] = max(hit.score, scores.get(hit.name, 0.0))
        chosen = sorted(scores, key=lambda name: (-scores[name], name))[:limit]
        shown = {*names, *chosen}
        context = PatchMergeContext(
            patches=self._patches,
            required_files=tuple(required),
            candidate_files=tuple(MemoryFile(name=n, content=self._set.by_name[n].text) for n in chosen),
            near={name: tuple(h.name for h in hits if h.name in shown) for name, hits in near.items()},
            by_meaning=self._similarity.by_meaning,
            names=frozenset(self._set.by_name),
            schema_=MergeOperation.model_json_schema(),
        )
        trace.debug("merge input\n%s", context.render())
        return context

    async def _near(self, limit: int) -> dict[str, list[Hit]]:
        """Search for each target by itself: a page is like one of them, and not like all of them together."""
        wanted: dict[str, dict[str, None]] = {}
        for patch in self._patches:
            file = patch.after_file or patch.before_file  # what is deleted may have to go somewhere
            if file is not None:
                wanted.setdefault(patch.target, {})[file.content] = None
        texts = {name: "\n".join(contents) for name, contents in wanted.items()}
        pages = texts | {page.name: page.text for page in self._set.policies}
        return await self._similarity.nearest(texts, pages, limit) if texts else {}


def _fields(file: MemoryFile | None) -> dict[str, object]:
    if file is None:
        return {}
    document = Document.parse(file.content, file.uri)
    return {**document.front, "content": document.body}


def _diff(before: object, after: object) -> str:
    return "\n".join(difflib.unified_diff(_lines(before), _lines(after), "before", "after", lineterm="", n=1))


def _lines(value: object) -> list[str]:
    """Strings by line; everything else as indented JSON, so that a changed key is a changed line."""
    if value is None:
        return []
    if isinstance(value, str):
        return value.split("\n")
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, default=str).split("\n")

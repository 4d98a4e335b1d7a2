"""SemanticGradient: a proposed edit of one experience, with a reason and a confidence (RFC §4)."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

from pydantic import Field, JsonValue

from xpstore.experience import MemoryFile, experience_uri
from xpstore.hashing import blob_id, content_id
from xpstore.model import Frozen


class SemanticGradient(Protocol):
    """What an optimizer needs to know of a proposed edit."""

    @property
    def before_file(self) -> MemoryFile | None:
        """The file the edit starts from; None proposes a new one."""
        ...

    @property
    def after_file(self) -> MemoryFile | None:
        """The proposed file; None proposes a deletion (beyond the RFC)."""
        ...

    @property
    def target_experience_name(self) -> str:
        """The experience to change."""
        ...

    @property
    def target_experience_uri(self) -> str | None:
        """Its path, relative to the store."""
        ...

    @property
    def base_version(self) -> int | None:
        """The version of the base, for people."""
        ...

    @property
    def rationale(self) -> str:
        """Why, in sentences."""
        ...

    @property
    def evidence_trajectory_uris(self) -> tuple[str, ...]:
        """The notes that support the edit."""
        ...

    @property
    def confidence(self) -> float:
        """How sure the estimator is, 0 to 1."""
        ...

    @property
    def metadata(self) -> dict[str, JsonValue]:
        """Free keys of the estimator."""
        ...


class PatchSemanticGradient(Frozen):
    """A gradient that is kept as a patch file: before and after rebuild from the patch alone."""

    before_file: MemoryFile | None
    after_file: MemoryFile | None
    base_commit: str | None = None
    """The commit whose experiences the estimator saw."""
    base_version: int | None = None
    rationale: str
    evidence_trajectory_uris: tuple[str, ...] = ()
    rollouts: tuple[str, ...] = ()
    """Ids of the rollouts that support the edit."""
    confidence: float = Field(ge=0, le=1)
    supersedes: tuple[str, ...] = ()
    """Older experiences that this edit replaces; they are required input of a merge."""
    metadata: dict[str, JsonValue] = {}

    @property
    def target_experience_name(self) -> str:
        """The experience to change."""
        file = self.after_file or self.before_file
        if file is None:
            raise ValueError("a gradient has a file before or after")
        return file.name

    @property
    def target_experience_uri(self) -> str:
        """Its path, relative to the store."""
        return experience_uri(self.target_experience_name)

    @cached_property
    def base_blob(self) -> str:
        """The blob id of the file before; forty zeros for a new one."""
        return blob_id(self.before_file.content if self.before_file else None)

    @cached_property
    def result_blob(self) -> str:
        """The blob id of the file after; forty zeros for a deletion."""
        return blob_id(self.after_file.content if self.after_file else None)

    @cached_property
    def id(self) -> str:
        """Hash of everything but the commit it was computed on."""
        return content_id(
            {
                "target": self.target_experience_name,
                "base": self.base_blob,
                "result": self.result_blob,
                **self.model_dump(
                    mode="json",
                    include={
                        "rationale",
                        "evidence_trajectory_uris",
                        "rollouts",
                        "confidence",
                        "supersedes",
                        "metadata",
                    },
                ),
            }
        )

"""Experience and ExperienceSet: the policy, as it stands at one commit (RFC §3.1)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast, get_args

from pydantic import JsonValue

from xpstore.document import Document
from xpstore.hashing import blob_id
from xpstore.layout import EXPERIENCES
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

PolicyStatus = Literal["draft", "staging", "production", "deprecated", "archived"]
STATUSES: tuple[PolicyStatus, ...] = get_args(PolicyStatus)
SERVED: frozenset[PolicyStatus] = frozenset({"staging", "production"})


def experience_uri(name: str) -> str:
    """Return the path of an experience, relative to the store."""
    return f"{EXPERIENCES}/{name}.md"


_FIELDS = {"name", "text", "version"}


class MemoryFile(Frozen):
    """One experience file as text, before or after an edit (RFC §4)."""

    name: str
    content: str

    @property
    def uri(self) -> str:
        """The path, relative to the store."""
        return experience_uri(self.name)

    @cached_property
    def fields(self) -> dict[str, JsonValue]:
        """The front matter. Raises DocumentError where it does not parse."""
        return cast("dict[str, JsonValue]", dict(Document.parse(self.content, self.uri).front))


class Experience(Frozen):
    """One page of the policy. `text` is the whole file; the rest is read from it on demand."""

    name: str
    text: str
    version: int | None = None
    """How many accepted commits changed the file; for people, never compared. None = not asked for."""

    @classmethod
    def read(cls, name: str, text: str, version: int | None = None) -> Experience:
        """Return the experience of a valid name and its text, without validating them again.

        What `model_construct` does, for these fields and twice as fast: a snapshot makes ten thousand.
        """
        made, put = cls.__new__(cls), object.__setattr__
        put(made, "__dict__", {"name": name, "text": text, "version": version})
        put(made, "__pydantic_fields_set__", _FIELDS)
        put(made, "__pydantic_extra__", None)
        put(made, "__pydantic_private__", None)
        return made

    @classmethod
    def parsed(cls, name: str, document: Document, version: int | None = None) -> Experience:
        """Return the experience of a file that is parsed already."""
        experience = cls.read(name, document.text, version)
        vars(experience)["document"] = document  # as the property keeps it
        return experience

    @property
    def uri(self) -> str:
        """The path, relative to the store."""
        return experience_uri(self.name)

    @cached_property
    def blob(self) -> str:
        """The git blob id: what guards compare."""
        return blob_id(self.text)

    @cached_property
    def document(self) -> Document:
        """The parsed file. Raises DocumentError."""
        return Document.parse(self.text, self.uri)

    @property
    def content(self) -> str:
        """The Markdown body, without front matter."""
        return self.document.body

    @property
    def metadata(self) -> dict[str, JsonValue]:
        """The front matter."""
        return cast("dict[str, JsonValue]", dict(self.document.front))

    @property
    def description(self) -> str:
        """One line on when to read this page; empty where the file has none."""
        value = self.document.front.get("description", "")
        return value if isinstance(value, str) else ""

    @property
    def status(self) -> PolicyStatus:
        """The lifecycle state; a file without one is in production (RFC's loader rule)."""
        value = self.document.front.get("status", "production")
        return value if value in STATUSES else "draft"


class ExperienceSet(Frozen):
    """All experiences at one commit: what an agent has read when it acts (RFC §3.1)."""

    root_uri: str
    policies: tuple[Experience, ...] = ()
    """Sorted by name."""
    snapshot_id: str = ""
    """The commit id; empty for a branch or folder without one."""
    metadata: dict[str, JsonValue] = {}

    @cached_property
    def by_name(self) -> dict[str, Experience]:
        """The policies by their names."""
        return {p.name: p for p in self.policies}

    def get(self, name: str) -> Experience | None:
        """Return the experience of this name, or None."""
        return self.by_name.get(name)

    def served(self) -> Iterator[Experience]:
        """Yield what agents are given by default: status production and staging."""
        return (p for p in self.policies if p.status in SERVED)

"""Trajectory ↔ its Markdown file in the evidence branch: front matter, then the note itself, untouched."""

from __future__ import annotations

from xpstore import frontmatter
from xpstore.errors import FormatError
from xpstore.trajectory import Trajectory

FIELDS = ("name", "outcome", "retrieval_anchor", "rollout", "metadata")


def to_text(trajectory: Trajectory) -> str:
    """Return the file of a trajectory."""
    values = trajectory.model_dump(mode="json", include=set(FIELDS))
    source = frontmatter.splice("", {key: values[key] for key in FIELDS if values[key] != {}})
    return f"---\n{source.rstrip()}\n---\n{trajectory.content}"


def from_text(text: str, where: str) -> Trajectory:
    """Return the trajectory of a file; the inverse of `to_text`. Raises FormatError, DocumentError."""
    source, body = frontmatter.split(text)
    if source is None:
        raise FormatError(f"{where} has no front matter", hint="see xp verify")
    try:
        return Trajectory.model_validate({"metadata": {}, **frontmatter.load(source, where), "content": body})
    except ValueError as error:
        raise FormatError(f"{where} is no note on a rollout: {error}", hint="see xp verify") from error

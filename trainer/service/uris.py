"""`viking://` names, which exist at this edge alone, and what they are here.

    viking://user/<user>/memories/experiences/<name>.md     the experience <name>
    viking://user/<user>/sessions/<id>/…                    what belongs to a session
    viking://~/…                                            the same, of whoever calls

A name is data. It is split and compared, never handed to a file system or to git as a path.
"""

from __future__ import annotations

from dataclasses import dataclass

from trainer.web.problem import WebError
from xpstore.errors import InvalidNameError
from xpstore.names import check_name

SCHEME = "viking://"
SUFFIX = ".md"
LONGEST = 1_000
"""Characters of a name that is looked at."""
MEMORIES = ("memories",)
EXPERIENCES = ("memories", "experiences")
SESSIONS = ("sessions",)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a name points: the parts below `viking://user/<user>`; `is_above` = at or above all users."""

    parts: tuple[str, ...]
    is_above: bool = False

    @property
    def experience(self) -> str | None:
        """The experience that is named, None where it is something else. Raises WebError (404)."""
        *folder, file = self.parts or ("",)
        if tuple(folder) != EXPERIENCES:
            return None
        name = file.removesuffix(SUFFIX)
        try:
            if name != file and check_name(name) == name:
                return name
        except InvalidNameError:
            pass  # no experience can have it
        raise missing(file, "file")

    @property
    def session(self) -> tuple[str, tuple[str, ...]] | None:
        """The session that is named, and what of it; None where it is something else."""
        if len(self.parts) < 2 or self.parts[:1] != SESSIONS:
            return None
        return self.parts[1], self.parts[2:]

    def holds(self, other: tuple[str, ...]) -> bool:
        """Return whether it is `other`, or a folder above it."""
        return self.is_above or other[: len(self.parts)] == self.parts


def parse_uri(uri: str, user: str) -> Place:
    """Return where a name points for a user.

    Raises WebError: 400 INVALID_URI where it is none, 403 where it is another user's.
    """
    if not uri.startswith(SCHEME):
        raise _invalid(uri, f"it does not begin with {SCHEME}")
    if len(uri) > LONGEST:
        raise _invalid(uri, f"it is longer than {LONGEST} characters")
    parts = tuple(uri.removeprefix(SCHEME).rstrip("/").split("/"))
    if parts in {("",), ("user",)}:
        return Place((), is_above=True)
    if any(part in {"", ".", ".."} for part in parts):
        raise _invalid(uri, "it has an empty part, '.' or '..'")
    if parts[0] == "~":
        return Place(parts[1:])
    if parts[0] != "user":
        raise missing(uri, "resource")
    if parts[1] != user:
        raise WebError(403, f"{uri[:200]} is not of the user '{user}'", details={"resource": uri[:200]})
    return Place(parts[2:])


def uri_of(user: str, *parts: str) -> str:
    """Return the name of what is below a user."""
    return SCHEME + "/".join(("user", user, *parts))


def experience_uri(user: str, name: str) -> str:
    """Return the name of an experience."""
    return uri_of(user, *EXPERIENCES, f"{name}{SUFFIX}")


def missing(what: str, kind: str) -> WebError:
    """Return the error of something that is not there."""
    resource = what[:200]
    return WebError(404, f"there is no {kind} {resource}", details={"resource": resource, "type": kind})


def _invalid(uri: str, why: str) -> WebError:
    return WebError(
        400,
        f"{uri[:200]!r} is no name here: {why}",
        code="INVALID_URI",
        details={"uri": uri[:200], "reason": why},
    )

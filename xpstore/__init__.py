"""A store of agent experiences in git: Markdown that agents read, one commit per lesson.

Public names are imported when they are first used: `from xpstore import ExperienceStore`.
"""

from __future__ import annotations

from importlib import import_module

# Public name → the module that has it.
_HOME = {
    "Blame": "xpstore.blame",
    "Conflict": "xpstore.errors",
    "ConflictError": "xpstore.errors",
    "Document": "xpstore.document",
    "Entry": "xpstore.events",
    "EvaluationKey": "xpstore.evaluation",
    "EvaluationRecord": "xpstore.evaluation",
    "EvidenceFile": "xpstore.evidence",
    "Experience": "xpstore.experience",
    "ExperienceSet": "xpstore.experience",
    "ExperienceStore": "xpstore.store",
    "ExperienceWatcher": "xpstore.watch",
    "Finding": "xpstore.verify",
    "Forgotten": "xpstore.forget",
    "GateVerdict": "xpstore.landing",
    "Landed": "xpstore.commit",
    "LandingCandidate": "xpstore.candidate",
    "LandingResult": "xpstore.landing",
    "Location": "xpstore.location",
    "MemoryFile": "xpstore.experience",
    "NewSnapshot": "xpstore.watch",
    "NotFoundError": "xpstore.errors",
    "PatchSemanticGradient": "xpstore.gradient",
    "PolicyApplyResult": "xpstore.plan",
    "PolicyPlanItem": "xpstore.plan",
    "PolicyUpdatePlan": "xpstore.plan",
    "RefusedError": "xpstore.errors",
    "RevertResult": "xpstore.revert",
    "Review": "xpstore.review",
    "RolloutRef": "xpstore.plan",
    "SemanticGradient": "xpstore.gradient",
    "StatusResult": "xpstore.status",
    "Trajectory": "xpstore.trajectory",
    "TrialFailure": "xpstore.evaluation",
    "TrialResult": "xpstore.evaluation",
    "UsageError": "xpstore.errors",
    "XpError": "xpstore.errors",
    "read_for": "xpstore.serving",
}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604  # one list of names, not two


def __getattr__(name: str) -> object:
    """Import a public name when it is asked for; `__version__` is the installed package's."""
    if name == "__version__":
        # loaded only here: it takes as long as half of pygit2
        return str(import_module("importlib.metadata").version("xpstore"))
    if name not in _HOME:
        raise AttributeError(f"module 'xpstore' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__

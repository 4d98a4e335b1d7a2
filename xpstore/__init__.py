"""A store of agent experiences in git: Markdown that agents read, one commit per lesson.

Public names are imported when they are first used: `from xpstore import ExperienceStore`.

The modules, from the values up; in brackets what only the one before is made of:

* what agents and programs open, and where it is: store · location (tracking) · errors failures model
  hashing
* what is a page, an edit, a plan: document markdown frontmatter · experience gradient plan trajectory ·
  names config settings
* how it stands in files and commits: patchfile note record trailers layout
* how bytes reach the disk: git (reader cache refs revision loose) gitcli objects trees pack durable lock
  (waiting wanted; lease) publish worktree · maintain fold · repair (git_folder salvage pack_entries refill
  ref_sources lost_plans)
* a new store: init source
* commits for other machines: pinned
* files of other programs: exchange/: formats bundle (page skills agents_file openviking) write (stamp) ·
  foreign (as the source of a store)
* evidence: evidence evidence_read ledger inbox (alive) redact (credentials personal finding) suspect forget
  purge witness
* how pages did on cases, and what follows: evaluation evaluation_notes · interval uses · gate_record
* landing and merging: commit guards item_merge applying · candidate (held_plans) reparent moved
  second_record unfinished landing duplicates · merge (merge_front merge_comments merge_order
  merge_statements polarity) · resolution (conflict resolver; resolution_check account_check fidelity say
  what may be written; merged_page keeps it) · kept by_hand left_out merge_driver
* other clones: remote (programs) union meeting sync
* reading history: events recent timeline history overview review (patchtext) blame (page_history) citing
  undone recognise
* changing one's mind, checking: revert (unwinding effects) status decision · verify (verify_record carried
  evidence_check merge_check page_check) · signatures gate_signature measured signing
* reading pages: snapshot pages · page_index search wording serving · derived collecting · watch

How a plan is written
---------------------
`commit.prepare` checks and renders a plan; `commit.apply` takes it from there to the moved refs, which is
what `make bench` times. No process, no index, no working tree:

1. Trees are spliced as bytes; a folder that nothing changes in makes no object.
2. All objects go into one pack without deltas, synced once, with a `.keep` beside it until the refs have
   moved. Small trees are stored and not deflated: their ids do not get shorter by it.
3. Under the store lock the refs move. A branch that is a plain file and that nobody has checked out is
   moved by git's own protocol, in a dozen system calls (`refs.py`); every other ref is left to libgit2.

Writers of one branch take turns (`waiting.py`): who finds the store lock taken puts down its rendered
plans, and the next holder writes them along with its own, each request all or nothing by itself. Nothing
waits while a model thinks; a planner whose work is too dear to do twice can take the branch's lease
(`lease.py`). Small packs are folded every 32 plans (`fold.py`), deltas, refs and the commit graph are git's
work in the background (`maintain.py`). What a killed writer left behind is told from what is git's, and
goes (`lock.py`).

How a merge is decided and checked
----------------------------------
`resolution.resolve` merges one page; it writes nothing and is called outside of any lock.

1. `merge`: what one side changed wins, front matter by key, the body by section and statement.
2. What both changed differently becomes hunks of numbered statements (`conflict`). A `Resolver` sees only
   these, has no tools, and returns statements for each hunk and an account: every numbered statement is
   kept, merged into or superseded by one of the result, or dropped with a reason. Without a model both
   sides are kept, and opposite commands are refused.
3. Code puts the decision into the page and checks it (`resolution_check`). Refused is: a marker of a kind
   that no version has, a line gone that both kept, a statement more often than the versions explain, a
   number, id, path or URL from nowhere or in another's place, a lost negation, an account that is not
   complete and true, broken front matter, any change around the hunks, another section. Rewording and
   taking one side are warnings.

`applying`, `landing` and `revert` ask it; where the branch moved meanwhile only new questions are asked.
How a page was merged goes into the plan's record (`merged_page`), and `merge_check` makes or checks it
again.

PROVEN = no model decided, VERIFIED = a decision that passed, REFUSED = nothing is written. A right-looking
reason is not enough to drop a lesson: the versions must show it (an opposite that stays, a removal, or that
it is said already).

After a loss of power
---------------------
What is damaged is never taken for absent: each is an error that names it. `repair.py` moves what is broken
aside, writes objects again whose bytes are still somewhere, puts refs back, and applies the plans again
that went with them. An object is the hash of its bytes, so nothing is ever guessed.

What is derived
---------------
`<git directory>/xpstore.cache/` spares a new process the work of the one before: texts and front matter of
the last snapshot (`pages.py`), the full-text index (`page_index.py`), what a bisection has read. It is
never trusted blindly, never in the way, bounded, and may be deleted at any time (`derived.py`). The newest
few commits are looked at in the process (`recent.py`); for long histories git's own filters are faster, and
are asked.
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

"""Check that every plan in the history of a branch is what its record and its evidence say.

intact   the commit is what the store wrote
carried  rebased or squashed since; the notes say what differs
altered  something is not what it was; the problems name it
unknown  the evidence branch was never in this clone, so nothing can be said
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from xpstore import carried, events, evidence, evidence_check, layout, page_check, recognise, verify_record
from xpstore.config import parse_config
from xpstore.evidence_check import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xpstore.config import StoreConfig
    from xpstore.events import Entry, RawCommit, Stamp
    from xpstore.location import Location
    from xpstore.recognise import Effects
    from xpstore.verify_record import Found

State = Literal["intact", "carried", "altered", "unknown"]
PAGES = "the experiences"
EVIDENCE = "the evidence branch"
FILE_MODES = frozenset({"100644", "100755", "000000"})


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one plan in one commit, or (without a plan id) about a branch as a whole."""

    plan_id: str
    commit: str
    state: State
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What differs without being wrong: a rebase, a squash, evidence that was forgotten."""
    what: str = ""
    """What was judged, where it is no plan: PAGES or EVIDENCE."""


def verify(loc: Location, ref: str) -> list[Finding]:
    """Check every plan in the history of a ref, oldest first, the pages at its tip, the evidence branch.

    People's commits, plain reverts included, are no plans and are not judged; the pages that they left at the
    tip are, as any others. Raises NotFoundError, and RepositoryError in a shallow clone.
    """
    events.need_whole_history(loc)
    tip = events.commit_of(loc, ref)
    check = _Check(loc, Evidence.open(loc), is_absent=evidence_check.is_absent(loc))
    commits = list(reversed(list(events.plan_commits(loc, tip))))
    findings = [finding for commit in commits for finding in check.commit(commit)]
    findings += check.nameless(tip, {i for f in findings for i in (f.plan_id, f.commit)})
    pages = page_check.check(loc, tip)
    if pages.problems or pages.notes:
        state: State = "altered" if pages.problems else "intact"
        findings.append(Finding("", tip, state, tuple(pages.problems), tuple(pages.notes), what=PAGES))
    problems = evidence_check.branch_problems(loc, check.shelf)
    if check.is_absent and any(f.plan_id for f in findings):
        findings.append(Finding("", "", "unknown", (evidence_check.how_to_fetch(loc),), what=EVIDENCE))
    elif problems:
        findings.append(Finding("", evidence.tip(loc) or "", "altered", tuple(problems), what=EVIDENCE))
    return findings


@dataclass(slots=True)
class _Check:
    loc: Location
    shelf: Evidence
    is_absent: bool
    """Whether the evidence branch was never here, so that no plan can be judged."""
    texts: carried.Texts = field(init=False)
    grounds: dict[str, tuple[tuple[str, str], str]] = field(default_factory=dict)
    """Plan commit → Base-Commit and Run-Id of its group, and the commit that the group is stacked on."""

    configs: dict[str, StoreConfig] = field(default_factory=dict)
    recorded: dict[str, str] = field(init=False)
    """The id or digest of a plan on record → its id."""

    def __post_init__(self) -> None:
        self.texts = carried.Texts(self.shelf)
        records = [p.split("/") for p in self.shelf.below("gradients") if p.endswith(".json")]
        self.recorded = {
            word: plan_id for *_, plan_id, file in records for word in (plan_id, file.removesuffix(".json"))
        }

    def commit(self, raw: RawCommit) -> Iterator[Finding]:
        """Judge the plans that a commit names, and those of ours that it names as if they were not."""
        stamps = tuple(s for s in events.claims(raw.entry.message) if s in raw.entry.stamps or self._leads(s))
        if self.is_absent:
            yield from (Finding(stamp.plan_id, raw.entry.commit, "unknown") for stamp in stamps)
            return
        if not stamps:
            return
        raw = replace(raw, entry=replace(raw.entry, stamps=stamps))
        inside, outside = self._split(raw)
        found = [verify_record.find(self.shelf, stamp) for stamp in stamps]
        for record in found:
            self.texts.add_patches(record.patches)
        if len(found) == 1 and len(raw.entry.parents) < 2:
            yield self._single(raw.entry, found[0], inside, outside)
        else:
            yield from self._squash(raw.entry, found, inside, outside)

    def _leads(self, stamp: Stamp) -> str:
        """Return the plan on record that the trailers lead to, whatever store they name; "" for none."""
        words = (stamp.plan_id, *stamp.fields.get("Plan-Digest", ()))
        return next((self.recorded[word] for word in words if word in self.recorded), "")

    def _named(self, stamp: Stamp) -> Stamp:
        return stamp if stamp.plan_id else replace(stamp, plan_id=self._leads(stamp))

    def nameless(self, tip: str, judged: set[str]) -> Iterator[Finding]:
        """Judge the commits whose trailers lead to no plan and that are known by their results.

        `judged` has the plans and the commits that were judged already.
        """
        entries = list(events.read(self.loc, tip, options=("--no-merges",)))
        for before, entry in zip(entries, recognise.recognised(self.loc, entries), strict=True):
            for stamp in entry.stamps if not before.stamps else ():
                if judged.isdisjoint((stamp.plan_id, entry.commit)):
                    found = verify_record.find(self.shelf, stamp)
                    trailers = verify_record.nameless_problems(self.shelf, entry, stamp, found)
                    notes = ["the message lost its trailers; known by its results", *found.notes]
                    yield _finding(stamp, entry, [*found.problems, *trailers], notes, is_carried=True)

    def _split(self, raw: RawCommit) -> tuple[Effects, list[str]]:
        """Return what a commit did to experiences, and what else it did."""
        folder = self.loc.at(raw.entry.commit).in_tree(layout.EXPERIENCES)
        inside: Effects = {}
        outside: list[str] = []
        for file in raw.files:
            name = events.experience_of(file.paths[0], [folder])
            if name and {file.old_mode, file.new_mode} <= FILE_MODES:
                inside[name] = (file.before, file.after)
            elif file.paths[0].startswith(f"{folder}/"):
                outside.append(f"the commit changes {file.paths[0]}, which is no experience file")
            else:
                outside.append(f"the commit changes {file.paths[0]}, outside {folder}/")
        return inside, outside

    def _single(self, entry: Entry, found: Found, inside: Effects, outside: Sequence[str]) -> Finding:
        if not found.record:
            return _finding(self._named(entry.stamps[0]), entry, [*found.problems, *outside], found.notes)
        compared = carried.compare(recognise.of_record(found.record).effects, inside, self.texts)
        merges, unchecked = verify_record.merge_findings(found, self.texts)
        problems = [
            *found.problems,
            *verify_record.message_problems(self.shelf, entry, found),
            *outside,
            *verify_record.limit_problems(found, self._config(entry), self.texts),
            *compared.problems,
            *merges,
        ]
        notes = [*self._rebased(entry), *verify_record.message_notes(entry, found), *compared.notes]
        is_carried = bool(notes)
        return _finding(
            self._named(entry.stamps[0]),
            entry,
            problems,
            [*notes, *found.notes, *unchecked],
            is_carried=is_carried,
        )

    def _rebased(self, entry: Entry) -> list[str]:
        """Say where a plan sits on another commit than it was made on; plans of one group are stacked."""
        base = entry.stamps[0].get("Base-Commit")
        parent = next(iter(entry.parents), "")
        own = (base, entry.stamps[0].get("Run-Id"))
        group, under = self.grounds.get(parent, (("", ""), ""))
        if group != own or parent == base:
            under = parent
        self.grounds[entry.commit] = (own, under)
        if not base or under == base:
            return []
        return [f"rebased: it was made on {base[:12]} and is on {under[:12] or 'nothing'}"]

    def _config(self, entry: Entry) -> StoreConfig:
        """Return the store's configuration as it was at a commit."""
        path = self.loc.at(entry.commit).in_tree(layout.CONFIG)
        file = self.loc.repo.entry(self.loc.repo.commit(entry.commit).tree, path)
        if file is None:
            return self.loc.config
        if file.id not in self.configs:
            text = self.loc.repo.blob(file.id).decode("utf-8", "replace")
            self.configs[file.id] = parse_config(text, path)
        return self.configs[file.id]

    def _squash(
        self, entry: Entry, found: Sequence[Found], inside: Effects, outside: Sequence[str]
    ) -> Iterator[Finding]:
        effects = [recognise.of_record(record.record).effects for record in found]
        compared = carried.compare_squash(effects, inside, self.texts)
        # a merge that repeats the messages of its side: those plans are judged there
        side = {s.plan_id for e in events.with_side(self.loc, entry).merged for s in e.stamps}
        for stamp, record, own in zip(entry.stamps, found, effects, strict=True):
            if stamp.plan_id in side:
                continue
            trailers = verify_record.squash_problems(stamp, record)
            mine = [text for name, text in compared.problems if name in own]
            notes = [f"squashed: the commit has {len(found)} plans", *compared.notes, *outside, *record.notes]
            yield _finding(
                self._named(stamp), entry, [*record.problems, *trailers, *mine], notes, is_carried=True
            )


def _finding(
    stamp: Stamp, entry: Entry, problems: Sequence[str], notes: Sequence[str], *, is_carried: bool = False
) -> Finding:
    state: State = "altered" if problems else "carried" if is_carried else "intact"
    return Finding(stamp.plan_id, entry.commit, state, tuple(problems), tuple(notes))

"""Measuring a candidate against what it would replace: same cases, same trials, same seeds, both sides.

The rules and the cases are those of the commit that the candidate lands on, never its own. What is on record
is not run again, so asking twice gives one answer: the seeds follow from the pages alone that agents are
given on both sides, and where others measure the same meanwhile, the scores that are on record first count.
Only a question that was left open can be asked again, with more trials; that is another look, which has less
of alpha (decide.py). Trials that could not be scored are tried again, a bounded number of times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from trainer.environment import world_of
from trainer.evaluate import Measurement, measure
from trainer.gate.decide import GateDecision, decide
from trainer.gate.leaks import TEACHES, Leak, find_leaks
from trainer.suite import load_suites, suite_digest
from trainer.trials import check_count
from xpstore import evaluation, evidence, gate_record, gate_signature, lock, measured
from xpstore.errors import UsageError
from xpstore.evaluation import EvaluationRecord
from xpstore.experience import SERVED
from xpstore.gate_record import GateRecord
from xpstore.hashing import content_id
from xpstore.layout import CASES
from xpstore.serving import readable
from xpstore.settings import GatePolicy
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from trainer.evaluate import Measured
    from trainer.rollouts import Progress
    from trainer.store_door import StoreDoor
    from xpstore.evaluation import EvaluationKey
    from xpstore.location import Location


@dataclass(frozen=True, slots=True)
class GateOptions:
    """What the command line says of a gate; all the rest is in `[gate]` of xp.toml."""

    suite: str = ""
    """Another suite than the policy's."""
    trials: int = 0
    """Attempts at each case; 0 = as the policy says."""
    parallel: int = 8
    time_limit: float | None = None
    """Seconds that one attempt may take; None = no limit."""
    is_own: bool = False
    """Use no figures that another repository has measured; so it is, too, where decisions are signed."""
    accept_inconclusive: bool = False
    """A person's decision: what the rules leave open lands."""
    let_in: tuple[str, ...] = ()
    """The suspect plans that a person lets land, a sentence each, for the record."""


@dataclass(frozen=True, slots=True)
class Gated:
    """A decision, what it was made from, and what it cost."""

    record: GateRecord
    path: str
    """Where the record is in the evidence branch."""
    decision: GateDecision
    """What the rules say; a person may have gone beyond it (`record.decided_by`)."""
    leaks: tuple[Leak, ...] = ()
    baseline: Measured | None = None
    """None where nothing was measured."""
    candidate: Measured | None = None
    seconds: float = 0.0

    @property
    def ran(self) -> int:
        """How many trials were run for it, those that were tried again included."""
        sides = [side for side in (self.baseline, self.candidate) if side]
        return sum(side.ran for side in sides)

    @property
    def reused(self) -> int:
        """How many scores were on record before."""
        return sum(side.reused for side in (self.baseline, self.candidate) if side)


@dataclass(frozen=True, slots=True)
class _Question:
    """What is to be decided."""

    candidate: str
    against: str
    policy: GatePolicy
    experiences: str
    baseline: str
    what: Measurement
    leaks: tuple[Leak, ...]
    wanted: int
    """The attempts at each case that were asked for; `policy` has what is run."""
    look: _Look


@dataclass(frozen=True, slots=True)
class _Look:
    """How often to try each case, and which look at these two that is."""

    trials: int
    number: int
    same: GateRecord | None
    """A decision from as many trials on what is served just so; it may be about other trees."""


async def gate(
    door: StoreDoor,
    candidate: str,
    against: str,
    options: GateOptions = GateOptions(),
    progress: Progress | None = None,
) -> Gated:
    """Decide on commit `candidate`, which is to replace commit `against`, and put the decision on record.

    Both are full commit ids. Raises UsageError: no environment, no cases, a case in two suites.
    """
    start = monotonic()
    while True:
        asked = await door.call(lambda location: _question(location, candidate, against, options))
        sides, decision = await _decided(door, asked, progress)
        keep = partial(_kept, asked=asked, decision=decision, sides=sides, options=options)
        kept = await door.call(keep)
        if kept:  # else somebody has decided meanwhile, and this is another look
            break
    record, path = kept
    return Gated(
        record=record,
        path=path,
        decision=decision,
        leaks=asked.leaks,
        baseline=sides[0] if sides else None,
        candidate=sides[1] if sides else None,
        seconds=monotonic() - start,
    )


async def _decided(
    door: StoreDoor, asked: _Question, progress: Progress | None
) -> tuple[tuple[Measured, Measured] | None, GateDecision]:
    """Return both sides, None where they need not be measured, and what the rules say."""
    if asked.experiences == asked.baseline:
        return None, GateDecision(decision="accept", reason="the experiences are the same")
    if any(leak.is_blatant for leak in asked.leaks) and asked.policy.leaks == "refuse":
        first = next(leak for leak in asked.leaks if leak.is_blatant)
        return None, GateDecision(decision="reject", reason=f"it knows what it must not: {first.sentence}")
    await door.call(lambda location: _taken_over(location, asked))
    sides = (
        await _measured(door, asked.against, asked, "gate_baseline", progress),
        await _measured(door, asked.candidate, asked, "gate_candidate", progress),
    )
    return sides, decide(sides[0].record, sides[1].record, asked.policy, asked.look.number)


def ungateable(location: Location, against: str) -> str:
    """Return why nothing can be measured against a commit; "" where it can.

    A store that never wrote gate cases has no gate. Raises UsageError where `[gate]` names other cases that
    are not there, or the file of them is none: a typo must not turn the gate off.
    """
    config = location.config_at(against)
    if not config.environment.name:
        return "the store names no environment to measure it in"
    suite = config.gate.suite
    here = location.at(against)
    is_there = here.repo.entry(here.repo.commit(against).tree, here.in_tree(f"{CASES}/{suite}.jsonl"))
    if suite == GatePolicy().suite and not is_there:
        return f"the store has no cases in {CASES}/{suite}.jsonl"
    load_suites(location, against, suite)
    return ""


def _question(location: Location, candidate: str, against: str, options: GateOptions) -> _Question:
    config = location.config_at(against)
    policy = replace(
        config.gate, suite=options.suite or config.gate.suite, trials=options.trials or config.gate.trials
    )
    if policy.suite == TEACHES:
        raise UsageError(
            f"the gate cannot decide on suite {TEACHES!r}: lessons are learned from it",
            hint="name another one, `[gate] suite` in xp.toml or --suite",
        )
    suites = load_suites(location, against, policy.suite)
    trees = [evaluation.experiences_at(location, commit) for commit in (candidate, against)]
    what = Measurement(
        world=world_of(config.environment, config.llm),
        suite=policy.suite,
        cases=suites[policy.suite],
        trials=policy.trials,
        seed=0,  # a pair has seeds of its own
        parallel=options.parallel,
        time_limit=options.time_limit,
        is_own=options.is_own or gate_signature.is_own_wanted(location.repo),
        pair=content_id([_served(location, commit) for commit in (candidate, against)]),
    )
    look = _look(location, what, trees[0], trees[1], policy)
    check_count(len(what.cases), look.trials)
    return _Question(
        candidate=candidate,
        against=against,
        policy=replace(policy, trials=look.trials),
        experiences=trees[0],
        baseline=trees[1],
        what=replace(what, trials=look.trials),
        leaks=find_leaks(location, candidate, against, suites),
        wanted=policy.trials,
        look=look,
    )


def _served(location: Location, commit: str) -> str:
    """Return an id of the pages that agents are given: no other bytes make it another question."""
    pages, _ = readable(snapshot(location, commit))
    return content_id([[page.name, page.text] for page in pages if page.status in SERVED])


def _look(
    location: Location, what: Measurement, experiences: str, baseline: str, policy: GatePolicy
) -> _Look:
    """Return how many trials to run, and which look at these two it is.

    What was decided is not decided again, and an open question is not asked with fewer trials than before.
    """
    wanted = _question_of(what.key(experiences))
    seen: set[int] = set()
    looks: dict[int, GateRecord] = {}
    settled: set[int] = set()
    for record in gate_record.of_suite(location, suite_digest(what.cases)):
        is_here = (record.experiences, record.baseline) == (experiences, baseline)
        found = _evaluation(location, record, what, is_here=is_here)
        if found and found.key.trials == record.trials and _question_of(found.key) == wanted:
            seen.add(record.trials)
            if what.is_own and not all(measured.is_own(location, path) for path in record.evaluations):
                continue  # it has its share of alpha, but somebody else may have made it up
            if is_here or record.trials not in looks:
                looks[record.trials] = record
            same_rules = replace(record.policy, trials=policy.trials) == policy
            if same_rules and record.decided_by == gate_record.GATE and record.decision != "inconclusive":
                settled.add(record.trials)
    trials = min(settled) if settled else max([policy.trials, *looks])
    return _Look(trials, 1 + sum(n < trials for n in seen), looks.get(trials))


def _evaluation(
    location: Location, record: GateRecord, what: Measurement, *, is_here: bool
) -> EvaluationRecord | None:
    """Return the candidate's evaluation of a decision on these trees, or on two that are served alike."""
    path = record.evaluations[1]
    if not is_here:  # the seeds tell: nothing else has them
        seeds = replace(what, trials=record.trials).seeds
        data = evidence.read(location, path) if seeds and path else None
        if data is None or str(seeds[0]).encode() not in data:
            return None
    found = evaluation.at_path(location, path)
    return found if found and (is_here or found.key.seeds == seeds) else None


def _question_of(key: EvaluationKey) -> str:
    """Return an id of what is asked, however often it is tried."""
    return content_id(key.model_dump(mode="json", exclude={"experiences", "trials", "seeds"}))


def _taken_over(location: Location, asked: _Question) -> None:
    """Let the scores of what is served just so be those of these trees: they are not drawn anew."""
    if asked.look.same is None:
        return
    own = measured.names(location) if asked.what.is_own else None
    pairs = zip(
        asked.look.same.evaluations,
        (asked.against, asked.candidate),
        (asked.baseline, asked.experiences),
        strict=True,
    )
    for path, commit, tree in pairs:
        key, old = asked.what.key(tree), evaluation.at_path(location, path)
        is_same = old and old.key.model_copy(update={"experiences": tree}) == key
        if old and is_same and evaluation.find(location, key, own) is None:
            record = EvaluationRecord(key=key, commit=commit, results=old.results, failures=old.failures)
            evaluation.write(location, record, is_own=measured.is_own(location, path))


async def _measured(
    door: StoreDoor, commit: str, asked: _Question, stage: str, progress: Progress | None
) -> Measured:
    """Measure one side; what could not be scored is tried again, as often as the policy says."""
    found = await measure(door, commit, asked.what, progress, stage)
    reused, ran = found.reused, found.ran
    for _ in range(asked.policy.retries):
        if not found.record.failures:
            break
        found = await measure(door, commit, asked.what, progress, stage)
        ran += found.ran
    return replace(found, reused=reused, ran=ran)


def _kept(
    location: Location,
    asked: _Question,
    decision: GateDecision,
    sides: tuple[Measured, Measured] | None,
    options: GateOptions,
) -> tuple[GateRecord, str] | None:
    """Put the decision on record; None where the question is no longer the one that was asked."""
    by_person = options.accept_inconclusive and decision.decision == "inconclusive"
    person = location.repo.person().name
    record = GateRecord(
        candidate=asked.candidate,
        against=asked.against,
        experiences=asked.experiences,
        baseline=asked.baseline,
        suite=asked.policy.suite,
        suite_digest=asked.what.key(asked.baseline).suite_digest,
        trials=asked.policy.trials if sides else 0,
        policy=asked.policy,
        look=asked.look.number,
        evaluations=(_path(sides[0]), _path(sides[1])) if sides else ("", ""),
        decision="accept" if by_person else decision.decision,
        progress=decision.progress,
        reason=f"{person} accepts it: {decision.reason}" if by_person else decision.reason,
        decided_by=f"{gate_record.PERSON}{person}" if by_person else gate_record.GATE,
        leaks=tuple(leak.sentence for leak in asked.leaks if leak.is_blatant),
        let_in=options.let_in,
    )
    with lock.store_lock(location.repo.common_dir):
        policy = replace(asked.policy, trials=asked.wanted)
        now = _look(location, asked.what, asked.experiences, asked.baseline, policy)
        if sides and (now.trials, now.number) != (asked.look.trials, asked.look.number):
            return None
        path = gate_record.write(location, record)
    if gate_signature.is_wanted(location.repo):
        gate_signature.sign(location, path, gate_record.as_file(record).data)
    return record, path


def _path(side: Measured) -> str:
    """Return where an evaluation is on record; where no trial could be scored, none is."""
    return evaluation.record_path(side.record) if side.record.n else ""

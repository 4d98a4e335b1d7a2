"""The decision: two evaluations of the same cases in, ACCEPT, REJECT or INCONCLUSIVE and one sentence out.

Pure and deterministic: whoever has the two records can decide again, and gets the same. What is compared is
the pass rate per case, candidate minus baseline, on trials that both sides ran with the same seed. A trial
that one side could not score is in neither, and counted; of too many, nothing was measured.

REJECT        it is worse: the paired test says so at alpha, however little it may be
ACCEPT        it does no harm: the one-sided lower bound of the mean difference is above -margin
INCONCLUSIVE  neither, so it stays on its branch; `needed` is the number of trials that would decide
progress      is another question: the paired test says better at alpha, the gain is at least `min_effect`,
              and at least `min_discordant` cases came out otherwise

The paired test: McNemar's exact one for one trial of each case, else sign flips of the cases' differences
(statistics.py). The bound: Student's t over the cases, with half a trial won and half a trial lost added (as
Agresti and Min, Statistics in Medicine 24, 2005, add to matched pairs), because without it a run in which
nothing differs would claim to know the difference exactly.

Why margin 0.1 and alpha 0.0425. With 50 cases of 4 trials the mean difference has a standard error of
3.8 points. A loss of 10 points must pass in at most 5 of 100 gates, an update that changes nothing in at
least 80: what passes must begin between 3.8 and 3.2 points below zero. These two put it at 3.4 (simulate.py
measures the rest). Five wins and no loss are the least that such an alpha can call progress: 1/32.
Another look at the same two, with more trials, is held to alpha / look², so that looking often does not help.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, comb, lcm, log2, sqrt
from typing import TYPE_CHECKING

from trainer.gate.statistics import mcnemar, sampled_sign_flips, sign_flips, student
from xpstore.errors import UsageError
from xpstore.gate_record import Decision
from xpstore.interval import wilson
from xpstore.model import Frozen
from xpstore.settings import MOST_TRIALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.evaluation import EvaluationRecord, TrialResult
    from xpstore.settings import GatePolicy

POWER = 0.8
"""The chance at which an effect counts as one that a run could have shown."""
GRID = 100_000
"""The most places that the exact distribution of a sum of differences may have."""


class CaseChange(Frozen):
    """How a case came out on both sides, over the trials that both scored."""

    case: str
    name: str
    n: int
    baseline: int
    """Trials that passed."""
    candidate: int

    @property
    def difference(self) -> float:
        """Pass rate of the candidate minus that of the baseline."""
        return (self.candidate - self.baseline) / self.n


class Figures(Frozen):
    """What was measured. Rates and effects are fractions."""

    cases: int
    trials: int
    """Attempts at each case, on either side."""
    pairs: int
    """Trials that both sides scored."""
    unscored: int
    """Trials that one side could not score, or both."""
    baseline: float
    """Mean pass rate of the cases."""
    candidate: float
    baseline_interval: tuple[float, float]
    """95 % Wilson interval; trials count as independent."""
    candidate_interval: tuple[float, float]
    difference: float
    """Mean over the cases, candidate minus baseline."""
    low: float
    """One-sided lower bound of the difference at alpha."""
    high: float
    """One-sided upper bound of the difference at alpha."""
    alpha: float
    """What this look may spend."""
    p_better: float
    p_worse: float
    test: str
    wins: int
    """Cases that came out better."""
    losses: int
    resolvable: float
    """The smallest true gain that such a run calls progress in four of five times."""
    pass_k: tuple[tuple[int, float, float], ...]
    """k, baseline's and candidate's chance that k attempts at a case all pass: mean of C(c,k)/C(n,k)."""


class GateDecision(Frozen):
    """What a gate says, and why."""

    decision: Decision
    progress: bool = False
    reason: str
    figures: Figures | None = None
    """None where nothing was measured; where too much could not be scored, nothing was."""
    changes: tuple[CaseChange, ...] = ()
    """Every case, in the order of the suite."""
    needed: int | None = None
    """Attempts at each case that would decide, were the rest as it is; None = no number would, or it is."""


def decide(
    baseline: EvaluationRecord, candidate: EvaluationRecord, policy: GatePolicy, look: int = 1
) -> GateDecision:
    """Return the decision on two evaluations. Raises UsageError where they are not of the same trials."""
    here, there = (record.key.model_dump(exclude={"experiences"}) for record in (baseline, candidate))
    differing = sorted(name for name in here if here[name] != there[name])
    if differing:
        raise UsageError(
            f"the two evaluations differ in {', '.join(differing)}", hint="measure both sides the same way"
        )
    return judge(paired(baseline, candidate), candidate.key.trials, policy, look, _asked(baseline, candidate))


def paired(baseline: EvaluationRecord, candidate: EvaluationRecord) -> list[CaseChange]:
    """Return the cases in the order in which they were tried, each over the trials that both sides scored."""
    before = {(r.case, r.trial, r.seed): r for r in baseline.results}
    both: dict[str, list[tuple[TrialResult, TrialResult]]] = {}
    for result in candidate.results:
        other = before.get((result.case, result.trial, result.seed))
        if other is not None:
            both.setdefault(result.case, []).append((other, result))
    return [
        CaseChange(
            case=case,
            name=pairs[0][1].name,
            n=len(pairs),
            baseline=sum(old.passed for old, _ in pairs),
            candidate=sum(new.passed for _, new in pairs),
        )
        for case, pairs in both.items()
    ]


def judge(
    changes: Sequence[CaseChange], trials: int, policy: GatePolicy, look: int = 1, asked: int | None = None
) -> GateDecision:
    """Return the decision on cases whose trials are paired; `asked`: how many pairs there should be."""
    pairs = sum(change.n for change in changes)
    missing = (pairs if asked is None else asked) - pairs
    if not pairs or missing > policy.max_unscored * (pairs + missing):
        return GateDecision(
            decision="inconclusive",
            reason=f"not measured: {missing} of {pairs + missing} trials could not be scored",
            changes=tuple(changes),
        )
    sample = _Sample(changes, policy.alpha / look**2)
    figures = _figures(sample, trials, missing, policy)
    decision, progress, reason = _verdict(figures, policy)
    needed = None
    if decision == "inconclusive":
        later = replace(sample, alpha=policy.alpha / (look + 1) ** 2)
        needed = _needed(later, trials, policy)
        reason += _advice(needed, later)
        if policy.inconclusive == "land":
            decision, reason = "accept", f"{reason}; `[gate] inconclusive` lets it land"
    return GateDecision(
        decision=decision,
        progress=progress,
        reason=reason,
        figures=figures,
        changes=tuple(changes),
        needed=needed,
    )


def pass_k(counts: Sequence[tuple[int, int]], k: int) -> float:
    """Return the mean of C(c,k)/C(n,k) over cases with c of n passed: the chance that k attempts all pass.

    The unbiased estimate of tau-bench (arXiv 2406.12045). Cases with fewer than k attempts are left out; 0
    where that is all of them.
    """
    shares = [comb(passed, k) / comb(n, k) for passed, n in counts if n >= k]
    return sum(shares) / len(shares) if shares else 0.0


@dataclass(frozen=True)
class _Sample:
    """The differences of the cases, and what follows from them at an alpha."""

    changes: Sequence[CaseChange]
    alpha: float

    @cached_property
    def differences(self) -> list[float]:
        return [change.difference for change in self.changes]

    @property
    def mean(self) -> float:
        return sum(self.differences) / len(self.changes)

    @cached_property
    def error(self) -> float:
        """Standard error of the mean, with half a trial won and half a trial lost added."""
        n = len(self.changes)
        trial = n / sum(change.n for change in self.changes)  # one trial, as a part of a case
        squares = sum(d * d for d in self.differences) + trial * trial
        variance = squares / (n + 2) - (sum(self.differences) / (n + 2)) ** 2
        return sqrt(variance * (n + 2)) / n

    @property
    def bound(self) -> float:
        """How far below the mean its one-sided lower bound lies."""
        return student(1 - self.alpha, max(1, len(self.changes) - 1)) * self.error

    @property
    def lasting(self) -> float:
        """The part of the squared error that more trials would not lower: cases differ in the effect.

        Cases that were tried once tell nothing about it: then it is taken to be none.
        """
        n, known = len(self.changes), [c for c in self.changes if c.n > 1]
        if len(known) < 2:
            return 0.0
        sides = [(passed, c.n) for c in known for passed in (c.baseline, c.candidate)]
        chance = sum(passed * (of - passed) / (of * of * (of - 1)) for passed, of in sides) / len(known)
        spread = sum((d - self.mean) ** 2 for d in self.differences) / (n - 1)
        return max(0.0, spread - chance) / n

    def test(self) -> tuple[float, float, str]:
        """Return the p-values of better and of worse, and what the test is called."""
        if all(change.n == 1 for change in self.changes):
            wins, losses = (sum(d * sign > 0 for d in self.differences) for sign in (1, -1))
            return *mcnemar(wins, losses), "McNemar, exact"
        scale = lcm(*(change.n for change in self.changes))
        weights = [round(change.difference * scale) for change in self.changes]
        if sum(map(abs, weights)) <= GRID:
            return *sign_flips(weights), "paired sign flips, exact"
        return *sampled_sign_flips(self.differences), "paired sign flips, sampled"


def _figures(sample: _Sample, trials: int, missing: int, policy: GatePolicy) -> Figures:
    changes = sample.changes
    n, pairs = len(changes), sum(change.n for change in changes)
    before = [(change.baseline, change.n) for change in changes]
    after = [(change.candidate, change.n) for change in changes]
    better, worse, name = sample.test()
    reach = (student(1 - sample.alpha, max(1, n - 1)) + student(POWER, max(1, n - 1))) * sample.error
    return Figures(
        cases=n,
        trials=trials,
        pairs=pairs,
        unscored=missing,
        baseline=sum(passed / of for passed, of in before) / n,
        candidate=sum(passed / of for passed, of in after) / n,
        baseline_interval=wilson(sum(passed for passed, _ in before), pairs),
        candidate_interval=wilson(sum(passed for passed, _ in after), pairs),
        difference=sample.mean,
        low=max(-1.0, sample.mean - sample.bound),
        high=min(1.0, sample.mean + sample.bound),
        alpha=sample.alpha,
        p_better=better,
        p_worse=worse,
        test=name,
        wins=sum(d > 0 for d in sample.differences),
        losses=sum(d < 0 for d in sample.differences),
        resolvable=min(1.0, max(reach, policy.min_effect, policy.min_discordant / pairs)),
        pass_k=tuple((k, pass_k(before, k), pass_k(after, k)) for k in _powers(trials)),
    )


def _verdict(figures: Figures, policy: GatePolicy) -> tuple[Decision, bool, str]:
    """Return decision, progress and the sentence on it."""
    gap, flips = _points(figures.difference), f"{_cases(figures.wins)} better, {figures.losses} worse"
    if figures.p_worse <= figures.alpha:
        return "reject", False, f"it is worse: {gap}, {flips}, p = {figures.p_worse:.2g}"
    harmless = figures.low > -policy.margin
    is_better = (
        figures.p_better <= figures.alpha
        and figures.difference >= policy.min_effect
        and figures.wins + figures.losses >= policy.min_discordant
    )
    bound = f"a loss of more than {abs(min(0.0, figures.low)) * 100:.1f} points is ruled out"
    if harmless and is_better:
        return "accept", True, f"progress: {gap}, {flips}, p = {figures.p_better:.2g}"
    if harmless:
        return "accept", False, f"no harm, and no proof of progress: {gap}, {flips}; {bound}"
    low = f"a loss of {-figures.low * 100:.1f} points is not ruled out, {policy.margin * 100:g} must be"
    return "inconclusive", False, f"{gap}, {flips}: {low}"


def _needed(sample: _Sample, trials: int, policy: GatePolicy) -> int | None:
    """Return how many trials of each case would decide, were difference and spread what they are here."""
    quantile = student(1 - sample.alpha, max(1, len(sample.changes) - 1))
    gap = sample.mean + policy.margin  # how wide the bound may be: no harm shown
    if len(sample.changes) >= least_cases(sample.alpha):
        gap = max(gap, -sample.mean)  # or worse
    once = (sample.error**2 - sample.lasting) * max(1, trials)
    room = (gap / quantile) ** 2 - sample.lasting
    if gap <= 0 or room <= 0:
        return None
    count = int(once / room) + 1
    return max(count, trials + 1) if count <= MOST_TRIALS else None


def least_cases(alpha: float) -> int:
    """Return how many cases the paired test must have to say anything at alpha: its least p is 2^-cases."""
    return ceil(-log2(alpha))


def _advice(needed: int | None, sample: _Sample) -> str:
    if needed is not None:
        return f"; about {needed} trials of each case would decide"
    few, least = len(sample.changes), least_cases(sample.alpha)
    if few < least:
        return f"; no number of trials of {_cases(few)} would decide, {least} cases at least are needed"
    return "; more trials of these cases would not decide, more cases may"


def _powers(trials: int) -> list[int]:
    """Return 1, 2, 4, … and the number of trials."""
    powers = [1 << n for n in range(trials.bit_length()) if 1 << n < trials]
    return [*powers, trials] if trials else []


def _asked(*records: EvaluationRecord) -> int:
    """Return how many trials there are that one of the records has tried."""
    scored = {(r.case, r.trial) for record in records for r in record.results}
    return len(scored | {(f.case, f.trial) for record in records for f in record.failures})


def _points(difference: float) -> str:
    return f"{difference * 100:+.1f} points"


def _cases(count: int) -> str:
    return f"{count} case" + ("" if count == 1 else "s")

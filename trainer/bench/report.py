"""The report of a benchmark: what the loop says, and what an accuracy alone hides.

Beside it stand the floor (what an agent scores that does nothing), pass^k, which cases flipped, what the
models were asked and what that cost, and which test cases are near copies of training cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import JsonValue

from trainer.bench.pass_hat import pass_hats
from trainer.report import EvaluationStage, LoopReport
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from trainer.bench.artifacts import Artifact
    from trainer.report import CaseScore, Stage


class ModelBill(Frozen):
    """What one model was asked for, in the rollouts of a stage."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """As the service counts it; 0 where it knows no prices."""


class StageBill(Frozen):
    """What the rollouts of a stage were asked for, as far as they are kept here."""

    rollouts: int = 0
    models: dict[str, ModelBill] = {}
    """`agent`, `user`, `judge`."""

    @property
    def total(self) -> ModelBill:
        """The sum over the models."""
        return _sum(self.models.values())


class Flips(Frozen):
    """Cases by how the share of their passed trials changed from the first to the last evaluation."""

    better: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    same: int = 0


class BenchReport(Frozen):
    """One run of a benchmark."""

    benchmark: str
    domain: str
    service: dict[str, JsonValue]
    """What the service says of itself."""
    loop: LoopReport
    floor: EvaluationStage | None
    """The test cases with an agent that does nothing."""
    pass_hat: dict[str, dict[int, float]]
    """Stage → k → pass^k; see `trainer.bench.pass_hat`."""
    flips: Flips
    bills: dict[str, StageBill]
    """Stage → what its models were asked for."""
    near_copies: tuple[str, ...] = ()
    """What of the benchmark's own split teaches what it is measured by, in words."""
    store: str
    rollouts: str
    """The folder of the rollouts' files."""

    @property
    def exit_code(self) -> int:
        """As the loop's; also 1 where the floor is not whole."""
        unmeasured = self.floor is not None and (self.floor.failures or not self.floor.n)
        return 1 if unmeasured else self.loop.exit_code


def stages_of(loop: LoopReport) -> dict[str, Stage]:
    """Return the stages of a loop by name; of several epochs each has its number."""
    epochs = {f"train_epoch_{epoch.epoch}": epoch for epoch in loop.epochs}
    found: dict[str, Stage | None] = {"baseline_eval": loop.baseline, **epochs, "final_eval": loop.final}
    return {name: stage for name, stage in found.items() if stage}


def flips_of(before: Stage | None, after: Stage | None) -> Flips:
    """Return which cases came out better or worse; those without a score on either side are left out."""
    if before is None or after is None:
        return Flips()
    first, last = ({c.name: c for c in stage.by_case if c.n} for stage in (before, after))
    change = {name: _share(last[name]) - _share(first[name]) for name in first if name in last}
    return Flips(
        better=tuple(sorted(name for name, by in change.items() if by > 0)),
        worse=tuple(sorted(name for name, by in change.items() if by < 0)),
        same=sum(by == 0 for by in change.values()),
    )


def bills_of(
    loop: LoopReport, kept: Iterable[Artifact], world: str, seeds: Mapping[int, int | None]
) -> dict[str, StageBill]:
    """Return what each stage was asked for, in order; an evaluation of the same policy is billed once.

    `seeds`: seed of a trial of this run → its epoch, None where it is one of the evaluations. Where others
    were measured in the same folder, with other seeds or cases, that is not billed here.
    """
    measured = {stage.commit: stage for stage in (loop.final, loop.baseline) if stage}
    cases = {commit: {case.name for case in stage.by_case} for commit, stage in measured.items()}
    found: dict[str, list[Artifact]] = {}
    for artifact in kept:
        if artifact.world != world or artifact.seed not in seeds:
            continue
        epoch = seeds[artifact.seed]
        if epoch is not None:
            found.setdefault(f"train_epoch_{epoch}", []).append(artifact)
        elif artifact.rollout.case.name in cases.get(artifact.snapshot, ()):
            found.setdefault(measured[artifact.snapshot].stage, []).append(artifact)
    return {name: _bill(found[name]) for name in stages_of(loop) if name in found}


def pass_hats_of(loop: LoopReport) -> dict[str, dict[int, float]]:
    """Return pass^k of the evaluations."""
    return {
        stage.stage: pass_hats(stage.by_case)
        for stage in (loop.baseline, loop.final)
        if stage and stage.by_case
    }


def closing_lines(report: BenchReport) -> Iterator[str]:
    """Yield what stands below the RFC's lines."""
    if report.floor and report.floor.accuracy is not None:
        floor = report.floor
        yield f"do-nothing floor: {floor.accuracy:.2%} ({floor.passed}/{floor.n})"
    stages = stages_of(report.loop)
    for name, hats in report.pass_hat.items():
        sign = ">=" if stages[name].failures else "="  # what was not scored might have passed
        yield f"{name} " + " ".join(f"pass^{k}{sign}{value:.2%}" for k, value in hats.items())
    if report.loop.baseline and report.loop.final:
        flips = report.flips
        yield f"cases better: {len(flips.better)}, worse: {len(flips.worse)}, the same: {flips.same}"
    for name, bill in report.bills.items():
        total = bill.total
        tokens = f"{total.prompt_tokens:,} tokens sent, {total.completion_tokens:,} written"
        cost = f", cost {total.cost:.4f}" if total.cost else ""
        yield f"{name}: {bill.rollouts} rollouts, {total.calls:,} calls, {tokens}{cost}"


def lessons_at(report: BenchReport) -> str:
    """Return the commit with what was learned, whoever committed it; "" where nothing was."""
    loop = report.loop
    before, after = loop.baseline, loop.final
    if not loop.changed or not before or not after or before.commit == after.commit:
        return ""
    return after.commit


def _bill(some: Iterable[Artifact]) -> StageBill:
    used: dict[str, list[ModelBill]] = {}
    count = 0
    for artifact in some:
        count += 1
        usage = artifact.rollout.metadata.get("usage")
        for who, spent in usage.items() if isinstance(usage, dict) else ():
            used.setdefault(who, []).append(_read(spent))
    return StageBill(rollouts=count, models={who: _sum(bills) for who, bills in sorted(used.items())})


def _read(spent: JsonValue) -> ModelBill:
    """Return what a rollout says of one model; what is no count is none: a service may say anything."""
    table = spent if isinstance(spent, dict) else {}
    counts = {key: table.get(key) for key in ("calls", "prompt_tokens", "completion_tokens")}
    cost = table.get("cost")
    return ModelBill(
        **{key: n for key, n in counts.items() if isinstance(n, int) and n > 0},
        cost=float(cost) if isinstance(cost, int | float) and 0 <= cost < 1e12 else 0.0,
    )


def _sum(bills: Iterable[ModelBill]) -> ModelBill:
    some = list(bills)
    return ModelBill(
        calls=sum(b.calls for b in some),
        prompt_tokens=sum(b.prompt_tokens for b in some),
        completion_tokens=sum(b.completion_tokens for b in some),
        cost=sum(b.cost for b in some),
    )


def _share(case: CaseScore) -> float:
    return case.passed / case.n

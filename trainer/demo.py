"""`xp demo`: a real store from the sample files, measured, trained, gated, landed. Without a key, if need be.

The order desk (trainer/environments/order_desk) is the agent's world; its cases and some first experiences
are plain files. Another seed is another company: other rules, other cases.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import trainer
from trainer.environments.order_desk import suites
from trainer.gate.landing import LandingGate
from trainer.loop import LoopOptions, train_loop
from trainer.suite import write_suite
from xpstore.errors import RepositoryError
from xpstore.init import init
from xpstore.landing import land
from xpstore.location import Location
from xpstore.source import Source, read_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer.gate.measure import Gated
    from trainer.report import LoopReport, Stage
    from trainer.rollouts import Progress
    from trainer.strategies import ModelChoice
    from xpstore.landing import LandingResult


QUICK = LoopOptions(evaluate=False)
"""For something that can be broken: the same lessons, and no scores before and after."""


ALL = LoopOptions()
"""All cases, as often as `xp train` tries them."""


FEW = LoopOptions(trials=2)
"""For a learner whose every reading is paid for: as many attempts as can be compared."""


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo did."""

    report: LoopReport
    landed: LandingResult | None
    """None where nothing was learned."""
    gated: Gated | None
    """What the gate found; None where nothing was learned."""

    @property
    def has_landed(self) -> bool:
        """Whether main has what was learned."""
        return self.landed is not None and self.landed.state == "landed"

    @property
    def is_suspect(self) -> bool:
        """Whether what was learned waits for a person to read it."""
        return self.landed is not None and self.landed.state == "suspect"


def sample() -> Path:
    """Return the folder of the sample files: beside the package when installed, or in the checkout.

    Raises RepositoryError where there is none.
    """
    installed = Path(str(files("trainer"))) / "sample"
    checkout = Path(trainer.__file__).parent.parent / "sample_repo"
    for folder in (installed, checkout):
        if folder.is_dir():
            return folder
    raise RepositoryError(f"the sample files are not in {installed}", hint="install xpstore again")


def source_of(seed: int | None) -> Source:
    """Return the sample files; with a seed, the same with the cases and the rules of another company."""
    source = read_source(sample())
    if seed is None:
        return source
    environment = source.config.environment
    options = {**environment.options, "seed": seed}
    cases = {f"cases/{name}.jsonl": write_suite(cases) for name, cases in suites(seed).items()}
    return replace(
        source,
        config=replace(source.config, environment=replace(environment, options=options)),
        files={**source.files, **cases},
    )


def make(where: Path, seed: int | None = None) -> Location:
    """Make the store of the demo. Raises UsageError where a file of it is there already."""
    return init(where, source=source_of(seed))


async def run_demo(
    where: Path,
    options: LoopOptions | None = None,
    *,
    choice: ModelChoice | None = None,
    say: Callable[[Stage], None] | None = None,
    progress: Progress | None = None,
) -> Demo:
    """Measure, train, measure again, and land what was learned, if the gate accepts it."""
    report = await train_loop(where, options or ALL, choice=choice, say=say, progress=progress)
    if not report.changed:
        return Demo(report, None, None)
    gate = LandingGate(where, progress=progress)
    # a landing is synchronous and asks its gate, which has an event loop of its own
    landed = await asyncio.to_thread(lambda: land(Location.find(where), report.branch, gate=gate))
    return Demo(report, landed, gate.gated)

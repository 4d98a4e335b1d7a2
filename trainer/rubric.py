"""How the results of a rubric's criteria make `passed` and `score` of an evaluation (RFC §3.5).

* `passed`: every criterion with `required` passed; where none is required, every criterion passed.
* `score`: the mean of the criteria's scores, weighted by `weight`; where all weights are 0, the plain mean.
  A criterion that is not required thus changes the score and never `passed`.
* Every criterion has exactly one result. What was not checked did not fail: a missing result, one for no
  criterion, two for one, no criteria at all, a score outside 0 … 1 or a weight below 0 is a ComponentError,
  which a pipeline reports as an infrastructure failure of the case, apart from its accuracy.
* `feedback`: what was said of the criteria that did not pass, each line after the criterion's name.
"""

from __future__ import annotations

from collections import Counter
from math import fsum, isfinite
from typing import TYPE_CHECKING

from trainer.domain import RubricEvaluation
from trainer.errors import ComponentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from trainer.domain import CriterionResult, Rubric


def evaluate(
    rubric: Rubric, results: Sequence[CriterionResult], metadata: Mapping[str, JsonValue] | None = None
) -> RubricEvaluation:
    """Return the evaluation, its criteria in the rubric's order. Raises ComponentError, as said above."""
    _check(rubric, results)
    found = {result.criterion_name: result for result in results}
    ordered = tuple(found[criterion.name] for criterion in rubric.criteria)
    required = [c for c in rubric.criteria if c.required] or rubric.criteria
    return RubricEvaluation(
        passed=all(found[criterion.name].passed for criterion in required),
        score=_mean([r.score for r in ordered], [c.weight for c in rubric.criteria]),
        criterion_results=ordered,
        feedback=tuple(f"{r.criterion_name}: {line}" for r in ordered if not r.passed for line in r.feedback),
        metadata=dict(metadata or {}),
    )


def _mean(scores: Sequence[float], weights: Sequence[float]) -> float:
    most = max(weights)
    shares = [weight / most for weight in weights] if most else [1.0] * len(weights)  # no sum overflows
    mean = fsum(score * share for score, share in zip(scores, shares, strict=True)) / fsum(shares)
    return min(max(scores), max(min(scores), mean))  # rounding must not lift a mean above what it averages


def _check(rubric: Rubric, results: Sequence[CriterionResult]) -> None:
    if not rubric.criteria:
        raise ComponentError(
            f"rubric {rubric.name!r} has no criteria", hint="nothing can be said of a rollout"
        )
    criteria = Counter(criterion.name for criterion in rubric.criteria)
    checked = Counter(result.criterion_name for result in results)
    problems = [f"two criteria are called {name!r}" for name, count in criteria.items() if count > 1]
    problems += [
        f"criterion {c.name!r} has weight {c.weight}"
        for c in rubric.criteria
        if not (isfinite(c.weight) and c.weight >= 0)
    ]
    problems += [f"criterion {name!r} was not checked" for name in criteria.keys() - checked.keys()]
    problems += [f"there is no criterion {name!r}" for name in checked.keys() - criteria.keys()]
    problems += [f"criterion {name!r} has {count} results" for name, count in checked.items() if count > 1]
    problems += [
        f"criterion {r.criterion_name!r} has score {r.score}, which is not from 0 to 1"
        for r in results
        if not 0 <= r.score <= 1
    ]
    if problems:
        raise ComponentError(f"rubric {rubric.name!r}: {'; '.join(sorted(problems))}")

"""pass^k: the chance that k attempts at a case all pass, from n attempts of which c passed.

Of all ways to choose k of the n attempts, C(c, k) / C(n, k) have only such that passed; the mean of this over
the cases is unbiased (Yao et al., tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World
Domains, arXiv:2406.12045, section 3). pass^1 is the mean pass rate.

An attempt that could not be scored counts as one that did not pass: left out, a case that breaks the service
whenever it gets hard would look easy. Where there are such attempts the figures are lower bounds, and the
accuracy beside them, which leaves them out, may be higher than pass^1.
"""

from __future__ import annotations

from math import comb, fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.report import CaseScore


def pass_hat(passed: int, n: int, k: int) -> float:
    """Return the share of the choices of k of n attempts in which all passed. `n` >= `k` >= 1."""
    return comb(passed, k) / comb(n, k)


def pass_hats(cases: Sequence[CaseScore]) -> dict[int, float]:
    """Return k → pass^k, for every k of which each case has attempts; empty without cases."""
    attempts = [(case.passed, case.n + case.failures) for case in cases]
    most = min((n for _, n in attempts), default=0)
    return {
        k: fsum(pass_hat(passed, n, k) for passed, n in attempts) / len(attempts) for k in range(1, most + 1)
    }

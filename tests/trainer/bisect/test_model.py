from __future__ import annotations

from math import log2, prod

import pytest

from trainer.bisect.model import RATES, SMALLEST, Posterior, entropy, shares, table

PRIOR = (0.2, 0.5, 0.3)
CASES = (
    ((0, 2, 0), (1, 1, 1), (3, 0, 2)),
    ((0, 1, 1), (2, 2, 0)),
    (),
    ((1, 0, 1),),
    ((0, 2, 0), (1, 1, 1), (3, 0, 2)),
)
FALLS = [(high, low) for high in RATES for low in RATES if high - low > SMALLEST - 1e-9]


def likelihood(counts, before, after, suspect):
    rates = [(before if state < suspect else after, won, lost) for state, won, lost in counts]
    return prod(rate**won * (1 - rate) ** lost for rate, won, lost in rates)


def by_hand(prior, cases):
    """Every world, one by one: joint weight of suspect, share and which cases are affected."""
    total, same, suspects, affected = 0.0, 0.0, [0.0] * len(prior), 0.0
    for suspect, before in enumerate(prior, 1):
        for share, weight in shares(len(cases)):
            none = [sum(likelihood(c, r, r, 0) for r in RATES) / len(RATES) for c in cases]
            some = [sum(likelihood(c, h, low, suspect) for h, low in FALLS) / len(FALLS) for c in cases]
            each = [share * yes + (1 - share) * no for yes, no in zip(some, none, strict=True)]
            world, nothing = (
                before * weight * prod(each),
                before * weight * prod((1 - share) * n for n in none),
            )
            total, same = total + world, same + nothing
            suspects[suspect - 1] += world - nothing
            affected += world * share * some[0] / each[0]
    return same / total, [s / total for s in suspects], affected / total


def test_the_posterior_is_the_sum_over_all_worlds():
    same, suspects, affected = by_hand(PRIOR, CASES)
    found = Posterior(PRIOR, CASES)
    assert found.same == pytest.approx(same)
    assert found.suspects == pytest.approx(suspects)
    assert sum(found.affected(CASES[0])) == pytest.approx(affected)
    assert found.same + sum(found.suspects) == pytest.approx(1)


def test_nothing_known_is_the_prior():
    found = Posterior(PRIOR, ((), ()))
    scale = 1 - found.same
    assert found.suspects == pytest.approx([p * scale for p in PRIOR])
    assert sum(weight for _, weight in shares(2)) == pytest.approx(1)


def test_the_information_is_what_the_next_score_changes_on_average():
    found = Posterior(PRIOR, CASES)
    at, counts = 2, CASES[1]

    def after(won, lost):
        here = {s: (w, f) for s, w, f in counts}
        here[at] = here.get(at, (0, 0))[0] + won, here.get(at, (0, 0))[1] + lost
        new = tuple((s, *v) for s, v in sorted(here.items()))
        return Posterior(PRIOR, (CASES[0], new, *CASES[2:]))

    def bits(posterior):
        totals = [sum(row) for row in posterior._weights]
        return sum(-p * log2(p) for p in totals)

    totals = [sum(row) for row in found._weights]
    chance = 0.0
    for number, (total, both) in enumerate(zip(totals, found.affected(counts), strict=True), 1):
        split, same = table(counts).split(number), table(counts).same
        chance += both * (split.after if number <= at else split.before) + (total - both) * same
    expected = bits(found) - chance * bits(after(1, 0)) - (1 - chance) * bits(after(0, 1))
    assert found.bits_on_suspects(counts)[at] == pytest.approx(expected, abs=1e-9)


def test_the_ends_tell_of_a_case_and_hardly_of_the_suspect():
    found = Posterior((0.25,) * 4, (((0, 3, 0), (4, 0, 3)), ()))
    here = found.bits_on_suspects(found.cases[0])
    assert here[2] > 0.25
    assert max(here[0], here[4]) < 0.01
    assert found.bits_on_case((), good=True) > 0.01


def test_a_rise_is_no_fall_and_thousands_of_scores_are_no_overflow():
    risen = Posterior((0.5, 0.5), (((0, 0, 9), (2, 9, 0)),))
    assert risen.same > 0.95
    fallen = Posterior((0.5, 0.5), (((0, 4000, 100), (1, 4000, 90), (2, 100, 4000)),))
    assert fallen.suspects[1] > 0.999
    assert fallen.same == 0.0
    assert fallen.bits_on_suspects(fallen.cases[0]) == pytest.approx([0, 0, 0], abs=1e-9)
    assert entropy(0.0) == entropy(1.0) == 0.0
    assert entropy(0.5) == 1.0

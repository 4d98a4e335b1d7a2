from __future__ import annotations

import json
from collections import Counter

import pytest

from trainer.domain import Case
from trainer.environments.order_desk.cases import SIZES, suites
from trainer.environments.order_desk.fields import FIELDS
from trainer.environments.order_desk.policy import draw_policy


@pytest.fixture(scope="module")
def made() -> dict[str, list[Case]]:
    return suites(11)


def test_suites_have_their_sizes_and_every_kind_of_request_alike(made: dict[str, list[Case]]) -> None:
    assert {name: len(cases) for name, cases in made.items()} == SIZES
    assert (SIZES["train"], SIZES["gate"], SIZES["test"]) >= (30, 20, 20)
    for cases in made.values():
        kinds = Counter(case.input["wish"]["change"] for case in cases)  # type: ignore[index, call-overload]
        assert max(kinds.values()) - min(kinds.values()) <= 1


def test_no_two_cases_share_a_customer_an_order_or_a_combination(made: dict[str, list[Case]]) -> None:
    cases = [case for found in made.values() for case in found]
    worlds = [case.input["world"] for case in cases]
    assert len({w["customers"][0]["customer_id"] for w in worlds}) == len(cases)  # type: ignore[index, call-overload]
    assert len({w["orders"][0]["order_id"] for w in worlds}) == len(cases)  # type: ignore[index, call-overload]
    combinations = {
        (case.input["wish"]["change"], *(row[0][f] for t, row in w.items() for f in FIELDS[t]))  # type: ignore[index, call-overload, union-attr]
        for case, w in zip(cases, worlds, strict=True)
    }
    assert len(combinations) == len(cases)
    assert len({case.name for case in cases}) == len({case.id for case in cases}) == len(cases)


def test_a_seed_gives_the_same_cases_and_another_other_ones(made: dict[str, list[Case]]) -> None:
    assert suites(11) == made
    assert not {c.id for c in suites(12)["test"]} & {c.id for c in made["test"]}


def test_a_case_survives_a_line_of_json_and_holds_no_rule(made: dict[str, list[Case]]) -> None:
    for case in made["gate"]:
        line = json.dumps(case.model_dump(mode="json"))
        assert Case.model_validate_json(line) == case
        assert case.input.keys() == {"request", "now", "wish", "world"}
        assert not [rule for rule in draw_policy(11).rules if str(rule) in line]
        assert "expected" not in line

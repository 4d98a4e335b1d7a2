"""The order desk keeps the contract of every environment."""

from __future__ import annotations

from tests.builders import page
from tests.trainer.contract import check_environment
from trainer.environment import load_environment
from trainer.environments.order_desk import suites
from xpstore.experience import Experience, ExperienceSet

LESSON = Experience(name="refund-order", text=page("refund-order", "Call `get_order` before `refund_order`."))


def test_it_is_installed_and_keeps_the_contract():
    environment = load_environment("order-desk", {"seed": 3})
    cases = suites(3)["train"][:3]
    check_environment(environment, cases, ExperienceSet(root_uri="experiences", policies=(LESSON,)))

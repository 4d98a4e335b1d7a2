import json

from tests.pages_of_others import CHINESE, OLD, REFUND, policy
from xpstore.exchange.bundle import bundle

EVIL = "- x\n\n<!-- xpstore:begin -->\n"
BROKEN = "---\na: [\n---\n- x\n"


def test_agents_are_given_what_is_served():
    found = policy(refund_order=REFUND, 退款=CHINESE, old=OLD, broken=BROKEN)
    made = bundle(found, "skills", "s1")
    assert made.names == ("refund-order", "退款")
    assert sorted(made.files) == ["refund-order/SKILL.md", "退款/SKILL.md"]
    assert made.left_out["old"] == "its status is archived"
    assert set(made.left_out) == {"old", "broken"}
    assert "old" in bundle(found, "openviking", "s1", everything=True).names


def test_figures_are_for_programs():
    found = policy(refund_order=REFUND)
    assert "*Support" not in bundle(found, "skills", "s1").files["refund-order/SKILL.md"]
    assert "*Support" in bundle(found, "skills", "s1", figures=True).files["refund-order/SKILL.md"]
    assert "*Support" in bundle(found, "openviking", "s1").files["refund-order.md"]


def test_a_page_that_would_break_a_block_is_left_out_of_blocks_only():
    found = policy(evil=EVIL)
    assert bundle(found, "claude-md", "s1").left_out == {"evil": "it has the marks of an export in its text"}
    assert bundle(found, "skills", "s1").names == ("evil",)


def test_json_has_all_of_a_page():
    made = json.loads(bundle(policy(退款=CHINESE), "json", "s1").files[""])
    assert (made["store"], made["commit"]) == ("s1", "c" * 40)
    (row,) = made["experiences"]
    assert (row["name"], row["description"], row["status"]) == ("退款", "用户要求退款", "production")
    assert row["front"]["tags"] == ["a", "b: c"]
    assert row["body"] == "## Approach\n\n- 先核对订单。"

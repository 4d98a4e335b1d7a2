from tests.pages_of_others import BARE, REFUND, policy
from xpstore.exchange.page import Page

FIGURES = "*Support: 33 rollouts in 12 cases.*"


def test_agents_are_spared_figures_and_what_nobody_sees():
    (page,) = policy(refund_order=REFUND.replace("twice.", "twi\u200bce.")).policies
    assert FIGURES in Page.of(page, figures=True).body
    shown = Page.of(page, figures=False).body
    assert FIGURES not in shown
    assert shown.endswith("- Do not refund twice.")


def test_the_first_statement_describes_a_page_that_does_not_say_when_to_read_it():
    described, bare = policy(a=REFUND, b=BARE).policies
    assert Page.of(described, figures=True).description == "When to refund: read it before."
    assert Page.of(bare, figures=True).description == "Call it early."
    (empty,) = policy(empty="").policies
    assert (Page.of(empty, figures=True).description, Page.of(empty, figures=True).status) == (
        "empty",
        "production",
    )


def test_the_text_is_a_file_that_reads_back_alike():
    (refund,) = policy(refund_order=REFUND).policies
    page = Page.of(refund, figures=True)
    assert page.text() == REFUND.replace(
        '"When to refund: read it before."', "'When to refund: read it before.'"
    )

from __future__ import annotations

import pytest

from trainer.env_kit.foreign import MOST, reason, told, where
from xpstore.errors import XpError

SECRET = "sk-" + "a1B2" * 10


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("of\nsome\x1b kind"), "ValueError: of some\x1b kind"),
        (XpError("the model is away"), "the model is away"),
        (SystemExit(), "SystemExit:"),
        (XpError(" \n"), "no reason was given"),
        (ValueError("half \ud800"), "ValueError: half \N{REPLACEMENT CHARACTER}"),
    ],
)
def test_one_line(error, line):
    assert reason(error) == line


def test_no_secret_and_not_too_much():
    assert SECRET not in told(f"bad key {SECRET}")
    assert len(told("x" * 100_000)) == MOST


def test_the_place_is_that_of_who_raised_it():
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018
    assert where(caught.value).startswith("test_foreign.py:")
    with pytest.raises(SyntaxError) as caught:
        compile("\n1 +", "my_desk.py", "exec")
    assert where(caught.value) == "my_desk.py:2"
    assert where(ValueError()) == "an unknown place"

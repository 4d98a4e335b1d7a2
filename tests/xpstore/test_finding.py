import pytest

from xpstore.finding import MASK, Finding, mask


@pytest.mark.parametrize(
    ("kind", "expected", "personal"),
    [("email", "<email-1>", True), ("aws-key", "<secret:aws-key-1>", False)],
)
def test_masks_tell_people_from_secrets(kind, expected, personal):
    assert mask(kind, 1) == expected
    assert MASK.fullmatch(expected)
    assert Finding(kind, 0, 3).personal is personal


@pytest.mark.parametrize("text", ["<b>", "<your-key>", "a < b-1", "<secret:>", "<Email-1>"])
def test_markup_is_no_mask(text):
    assert not MASK.search(text)

import time
from email.utils import formatdate

import pytest

from trainer.retry_after import seconds_of


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        *(("3", 3.0), ("0.5", 0.5), ("-3", 0.0), ("", None), ("soon", None), ("nan", None), ("inf", None)),
        ("Mon, 99 Foo 2026 10:00:00 GMT", None),
    ],
)
def test_a_number_of_seconds(header, seconds):
    assert seconds_of(header) == seconds


def test_a_moment():
    assert 50 < seconds_of(formatdate(time.time() + 60, usegmt=True)) <= 60
    assert seconds_of(formatdate(0, usegmt=True)) == 0

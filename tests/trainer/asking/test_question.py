from trainer.asking.question import AskError, Usage
from trainer.errors import ComponentError


def used(*values) -> Usage:
    return Usage(**dict(zip(Usage.model_fields, values, strict=True)))


def test_usage_sums_field_by_field():
    one = used(1, 10, 2, 0.5, 1, 0)
    assert one + Usage(calls=2, reused=3) == used(3, 10, 2, 0.5, 1, 3)
    assert sum([one, one], Usage()) == used(2, 20, 4, 1.0, 2, 0)
    assert one + one - one == one


def test_an_error_says_what_it_cost():
    error = AskError("length", "the answer was cut", usage=Usage(calls=1))
    assert isinstance(error, ComponentError)
    assert (error.fault, error.usage.calls, str(error)) == ("length", 1, "the answer was cut")

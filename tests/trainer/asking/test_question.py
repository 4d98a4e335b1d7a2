from trainer.asking.question import AskError, Usage
from trainer.errors import ComponentError


def test_usage_sums_field_by_field():
    one = Usage(calls=1, prompt_tokens=10, completion_tokens=2, cost=0.5, repaired=1)
    assert one + Usage(calls=2, reused=3) == Usage(3, 10, 2, 0.5, 1, 3)
    assert sum([one, one], Usage()) == Usage(2, 20, 4, 1.0, 2)


def test_an_error_says_what_it_cost():
    error = AskError("length", "the answer was cut", usage=Usage(calls=1))
    assert isinstance(error, ComponentError)
    assert (error.fault, error.usage.calls, str(error)) == ("length", 1, "the answer was cut")

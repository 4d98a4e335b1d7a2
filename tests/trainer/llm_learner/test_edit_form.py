from trainer.asking.form import schema_of
from trainer.llm_learner.edit_form import Edits


def test_the_form_is_bounded():
    assert list(schema_of(Edits)["properties"]) == ["edits", "nothing"]

from trainer.importers.scoring import reward_evaluation, reward_rubric


def test_rubric_has_one_required_criterion():
    rubric = reward_rubric("x")
    assert [(c.name, c.required) for c in rubric.criteria] == [("reward", True)]


def test_the_pass_mark_decides_unless_the_source_knows():
    assert reward_evaluation(1.0, "s").passed
    below = reward_evaluation(0.99, "s", metadata={"k": 1})
    assert (below.passed, below.score, below.feedback) == (False, 0.99, ("The reward is below 1.0.",))
    assert below.metadata == {"source": "s", "reward": 0.99, "k": 1}
    assert below.criterion_results[0].feedback == below.feedback
    assert reward_evaluation(0.5, "s", passed=True).criterion_results[0].passed
    assert reward_evaluation(0.0, "s", feedback=("why",)).feedback == ("why",)

"""The learner with a model: reads rollouts, proposes edits, merges them; code checks every answer."""

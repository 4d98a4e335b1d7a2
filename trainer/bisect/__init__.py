"""Which update broke it: a search over commits by evaluations that are noisy.

`model` states what is believed: a posterior over the updates, pass rates per case unknown before and after
the fall. `choose` runs the trial that tells most. A bet that needs no such belief confirms the culprit
against its parent. What to do next follows from the evaluations on record: a search that was stopped goes on.
"""

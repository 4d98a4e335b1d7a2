"""The learner without a model: what separates failures from successes, in sentences that can be checked.

It reads facts (facts, objects), proposes every lesson its grammar can say (grammar/, condition, candidates),
judges all of them on all rollouts (judging, bench), and keeps what is above chance, is not explained by a
better lesson, holds on left-out cases, and goes with failure (learn states the rule). A lesson is a sentence
of the grammar, so anybody can measure it again from the Markdown alone (check). A page is a function of all
evidence: order and batches do not matter.

Nothing is imported here: what reads only facts does not pay for the statistics.
"""

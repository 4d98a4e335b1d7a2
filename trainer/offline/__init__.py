"""The learner without a model: what separates failures from successes, in sentences that can be checked.

Nothing is imported here: what reads only facts does not pay for the statistics.
"""

"""Which update broke it: a search over commits by evaluations that are noisy."""

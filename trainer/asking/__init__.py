"""Asking a model: a question with the form of its answer in, a checked value out."""

"""Environments: worlds in which an agent works on cases, with the agents that need no model."""

"""Environments: worlds in which an agent works on cases, with the agents that need no model.

`order_desk/` comes with the project. Who acts in it is a `Player` with its `Agent`s (agent.py): the scripted
one, or a model (llm_player, llm_agent, llm_messages). `http` is an environment in another process,
`tau2/` a benchmark.
"""

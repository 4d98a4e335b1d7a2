"""An agent without a model: fixed habits, and the sentences of `trainer.offline.grammar` that it is given.

It obeys a wrong sentence like a right one. It sees what any agent sees: messages and tool schemas.
"""

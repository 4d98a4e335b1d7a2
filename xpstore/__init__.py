"""A store of agent experiences in git: Markdown that agents read, one commit per lesson."""

"""Experiences for agents that speak the Model Context Protocol (MCP): `xp mcp`."""

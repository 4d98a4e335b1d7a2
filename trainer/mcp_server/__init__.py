"""Experiences for agents that speak the Model Context Protocol (MCP): `xp mcp`.

server is the door to the SDK, tools and arguments what may be asked, shelf what is read (it looks where the
branch is at every call), follow tells of changes, meaning searches by vectors. outcomes takes reports: each
is on record before it is answered.
"""

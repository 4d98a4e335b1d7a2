"""The session service: what agents say comes in over HTTP, and lessons come out as commits."""

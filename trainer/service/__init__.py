"""The session service: what agents say comes in over HTTP, and lessons come out as commits.

who and what   app, tenants (whose key, whose store), envelope
pages          fs_routes, search_routes → pages (one commit at a time); uris: `viking://` names, only here
sessions       session_routes, task_routes → sessions → session_store (SQLite, synced before it answers)
learning       session_tasks → session_learning: case_finding or case_question, then the stream
afterwards     memory_diff is read from the commits, so it cannot disagree with them

What came of a rollout is asked of the ledger, and the first cases that were found stay: a kill at any moment
teaches nothing twice.
"""

"""Asking a model: a question with the form of its answer in, a checked value out.

the wire     chat, envelope, body: an endpoint may send anything with status 200, and what comes is read
             here, never by the client library
how often    attempts, slots, turns: each attempt has a deadline; an endpoint that cannot keep up is sent
             less at once, as TCP does; budget: what a call may cost is reserved before it goes out
the answer   question, asker (form, check, one repair), form, answer_text, abilities
kept         tape (record, replay), answers (on record), vectors, files
around       prompts, quoting (data stands between marks that are a hash of it), open, trusted (which host
             may have a key)

A question has one answer: by its digest, in the run, in `<git directory>/xpstore.answers/` (bounded, no
questions in it, deleted by `xp forget`), or on a tape. How an endpoint has to be asked is no part of the
digest. The door is `trainer/llm.py`.
"""

"""Other services over HTTP, as a client sees them.

client, answer                               the door to httpx: deadlines, bounds, retries, keys that stay
                                             where they are; what may come back
protocol, values                             the JSON of environments (RFC §15.6); what of a case is sent
rollout                                      one rollout at such a service, followed to its end
session_case                                 the first and last message of a training session
session_client, session_upload               the session API of OpenViking, and one rollout through it

The components that use them are `components/remote.py` and `components/session_commit.py`.
"""

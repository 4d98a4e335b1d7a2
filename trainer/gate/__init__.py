"""The gate: does a candidate do harm, and is it progress? Both sides are measured on the same draws.

measure     runs both sides on draws that follow from what agents are given alone, so nothing is re-rolled
decide      the rules and their thresholds; pure, so that anybody can decide again from the evidence
simulate    how often it is wrong        selftest   tries it on the cases at hand
leaks       lessons that quote a case    landing    the gate that xp land, revert and status changes ask

The store does not know this package: it finds the gate through the entry-point group `xpstore.gates`.
"""

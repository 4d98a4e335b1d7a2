"""The learner with a model: reads rollouts, proposes edits, merges them; code checks every answer.

notes    extractor (transcript)
edits    editor (shelf, edit_form, edits)
merge    merger (grouping, union, merge_form, merge_account, merge_check, merge_operations), resolver, claims
scores   judge
shared   layout, wording, instance, room

Statements, not texts: a model names numbers and writes single statements; code builds the page, and every
other byte stays. What people wrote is never replaced, deleted or contradicted; what they took back needs
trials that show it anew. A model's word is checked (wording, instance): quotes occur in the transcript,
trials and numbers exist, no lesson has data of a single case, orders or markup. What is wrong is told once;
then that note or edit alone is left out.

Edits that meet are decided by number (grouping: one target, a page that is superseded, statements that are
close). The statements of their pages and what each edit adds or takes out are one union; the answer is an
account of it, checked with every edit as a version of its base (xpstore/account_check.py). Groups share
questions (first fit); one that is refused after one repair is merged by `trainer/offline/merger.py`; pages
between which statements went land in one plan (trainer/plan_parts.py).
"""

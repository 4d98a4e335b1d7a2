"""Git entry points: what `xp hook` checks, how its shims are installed, and CI templates.

A clone's hooks are advice, since anybody can switch them off: the server is the gate. What it goes by:

decisions    are checked, not believed: decided again, and signed, or held by the server itself (belief.py);
             several landings may come in one push, and each needs its own
suspects     plans that are marked so come with a person's word in such a decision (suspect_rules.py)
signatures   are asked for commit by commit, of people too, and of a merge that takes one side as it is;
             `[sign]` of xp.toml does not count here, since a push can change it (trust.py)
rules        no push changes those for the next one, unless `xp.allowGateChange` is set: the tables of
             xp.toml that measuring and judging read, and the cases of the gate (main_rules.py)
places       ids, branches, names and folders of the stores on a guarded branch stay; a store moves as it is;
             one more comes with `xp.allowNewStores` (store_rules.py). A symbolic ref is what it points at,
             and no tag is called as a guarded branch (ref_rules.py)
quarantine   the objects of a push are not the repository's own yet: `Repo.lend` and `gitcli.lending` add
             that one folder to what is read, and every other GIT_* variable stays dropped

Modules: shim, folder, install (install_lock, kept, packs), drivers, doctor: what `xp hooks` sets up · staged,
page_rules, pre_commit, commit_msg, pre_push, post_merge: a clone · receive, ref_rules, store_rules,
main_rules, suspect_rules, belief, growth, notes_rules, trust: a server · changes, remark: both · ci_init
(templates in ci/), ci_requirement, ci_comment: a hosting site. A hook that was there keeps bytes, mode and
its own name, runs first on the same input, and gets its place back (kept.py).
"""

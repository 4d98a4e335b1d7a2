from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.builders import fsck, git, make_plan, make_store, page, texts, upsert
from xpstore import lock, objects, refill, signatures, signing
from xpstore.commit import commit
from xpstore.errors import RefusedError
from xpstore.landing import land
from xpstore.location import Location
from xpstore.verify import verify

HAS_GPG = shutil.which("gpg") is not None


def make_key(folder: Path, name: str) -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / name)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return folder / name


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    pat = make_key(folder, "pat").with_suffix(".pub").read_text()
    make_key(folder, "eve")
    (folder / "allowed").write_text(f"pat@example.org {pat}")
    return folder


@pytest.fixture
def loc(tmp_path: Path, keys: Path) -> Location:
    """A store that signs with ssh."""
    made = make_store(tmp_path / "desk")
    place = made.repo.place
    with (place / "xp.toml").open("a") as file:
        file.write('\n[sign]\nformat = "ssh"\n')
    git(place, "commit", "-qam", "Ask for signatures")
    git(place, "config", "user.signingKey", str(keys / "pat"))
    git(place, "config", "gpg.ssh.allowedSignersFile", str(keys / "allowed"))
    return Location.find(place)


def teach(loc: Location, name: str, branch: str = "main", after: str = "", before: str | None = None) -> str:
    plan = make_plan(loc, upsert(name, after or page(name), before), branch=branch, rollouts=())
    return commit(loc, [plan], branch)[0].commit


def states(loc: Location, ref: str = "main") -> list[str]:
    return [found.state for found in signatures.check(loc, ref)]


def test_a_plan_is_signed_and_plain_git_says_so(loc):
    made = teach(loc, "refund")
    place = loc.repo.place
    assert "\ngpgsig -----BEGIN SSH SIGNATURE-----\n" in git(place, "cat-file", "commit", made)
    git(place, "verify-commit", made)
    assert git(place, "log", "-1", "--format=%G? %GS", made) == "G pat@example.org"
    [found] = signatures.check(loc, "main")
    assert (found.state, found.signer, found.is_required) == ("good", "pat@example.org", True)
    assert [f.state for f in verify(loc, "main")] == ["intact"]
    fsck(place)


def test_a_group_and_what_lands_re_parented_or_merged_is_signed(loc):
    before, place = page("refund"), loc.repo.place
    start = git(place, "rev-parse", "main")
    teach(loc, "refund")
    plans = [make_plan(loc, upsert(n, page(n)), branch="main", subject=n) for n in ("exchange", "cancel")]
    commit(loc, plans, "train/one")
    commit(loc, [make_plan(loc, upsert("upgrade", page("upgrade")), subject="upgrade")], "train/two")
    teach(loc, "refund", after=page("refund", "Look before you leap.", "Ask."), before=before)
    assert land(loc, "train/one").candidate.how == "re-parented"
    assert land(loc, "train/two", merge=True).candidate.how == "merge"
    assert states(loc) == ["good"] * 5
    for made in git(place, "rev-list", "main", f"^{start}").split():
        git(place, "verify-commit", made)


def test_without_a_key_or_with_one_that_fails_nothing_is_written(loc, tmp_path):
    place = loc.repo.place
    before = git(place, "for-each-ref"), sorted((place / ".git" / "objects").rglob("*"))
    for key in (str(tmp_path / "none"), str(place / "xp.toml")):
        git(place, "config", "user.signingKey", key)
        with pytest.raises(RefusedError, match=r"there is no key|does not sign with"):
            teach(loc, "refund")
    git(place, "config", "--unset", "user.signingKey")
    with pytest.raises(RefusedError, match="git knows no key of yours"):
        teach(loc, "refund")
    assert (git(place, "for-each-ref"), sorted((place / ".git" / "objects").rglob("*"))) == before


def test_a_trial_of_a_landing_needs_no_key_and_the_landing_does(loc):
    commit(loc, [make_plan(loc, upsert("exchange", page("exchange")))], "train/one")
    teach(loc, "refund")
    git(loc.repo.place, "config", "--unset", "user.signingKey")
    assert land(loc, "train/one", dry_run=True).candidate.how == "re-parented"
    with pytest.raises(RefusedError, match="git knows no key of yours"):
        land(loc, "train/one")


def test_signing_happens_outside_of_the_store_lock_however_often_it_loses(loc, monkeypatch):
    signed = []
    original = signing.sign

    def sign(data: bytes, **options: str) -> str:
        held = lock._held.get(str(loc.repo.common_dir))
        assert held is None or not held.depth
        text = original(data, **options)
        if len(signed) < 8:  # somebody else is faster, time after time
            git(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "Another")
        signed.append(data)
        return text

    monkeypatch.setattr(signing, "sign", sign)
    git(loc.repo.place, "verify-commit", teach(loc, "refund"))
    assert len(signed) == 9


def test_altered_unsigned_and_strangers_plans_are_told_apart(loc, keys):
    place = loc.repo.place
    git(place, "config", "user.signingKey", str(keys / "eve"))
    teach(loc, "strange")
    git(place, "config", "user.signingKey", str(keys / "pat"))
    data = git(place, "cat-file", "commit", teach(loc, "altered"))
    stored = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        input=data.replace("Teach altered", "Teach Altered").encode() + b"\n",
        cwd=place,
        capture_output=True,
        check=True,
    ).stdout.decode()
    git(place, "reset", "-q", "--hard", stored.strip())
    teach(loc, "bare")
    git(place, "commit", "-q", "--amend", "--no-edit", "--no-gpg-sign")
    found = signatures.check(loc, "main")
    assert [f.state for f in found] == ["unknown", "bad", "unsigned"]
    assert [f.is_wrong for f in found] == [True] * 3
    assert found[0].reason == "no allowed signer has this key"


def test_a_plan_from_before_the_store_asked_for_signatures_needs_none(tmp_path):
    made = make_store(tmp_path / "desk")
    teach(made, "refund")
    [found] = signatures.check(made, "main")
    assert (found.state, found.is_required, found.is_wrong) == ("unsigned", False, False)
    with (made.repo.place / "xp.toml").open("a") as file:
        file.write('\n[sign]\nformat = "ssh"\n')
    git(made.repo.place, "commit", "-qam", "Ask for signatures")
    assert [f.is_wrong for f in signatures.check(made, "main")] == [False]


def test_a_server_that_asks_is_told_of_peoples_commits_and_of_merges_that_take_a_side(loc, keys):
    place = loc.repo.place
    old = teach(loc, "refund")
    git(place.parent, "clone", "-q", "--bare", str(place), "server.git")
    bare = Location.find(place.parent / "server.git")
    trust = signatures.trust_of(bare.repo, keys / "allowed")
    good = teach(loc, "exchange")
    (place / "code.py").write_text("pass\n")
    git(place, "add", "code.py")
    git(place, "commit", "-qm", "Code needs no signature")
    (place / "experiences" / "refund.md").unlink()
    git(place, "commit", "-qam", "By hand")
    by_hand = git(place, "rev-parse", "HEAD")
    took = git(place, "commit-tree", f"{old}^{{tree}}", "-p", by_hand, "-p", old, "-m", "Take the old side")
    git(place, "push", "-q", str(bare.repo.git_dir), f"{took}:refs/heads/new")
    assert [f.commit for f in signatures.missing(bare, old, took, trust)] == [by_hand, took]
    assert signatures.missing(bare, old, good, trust) == []
    assert [f.state for f in signatures.missing(bare, old, good)] == ["unknown"]
    assert old not in [f.commit for f in signatures.missing(bare, "", old, trust)]


def test_a_merge_the_other_way_round_changes_what_the_branch_had(loc, keys):
    place, trust = loc.repo.place, signatures.trust_of(loc.repo, keys / "allowed")
    old = teach(loc, "refund")
    now = teach(loc, "exchange")
    side = git(place, "commit-tree", f"{old}^{{tree}}", "-p", old, "-m", "Code")
    back = git(place, "commit-tree", f"{old}^{{tree}}", "-p", side, "-p", now, "-m", "Merge main")
    later = git(place, "commit-tree", f"{old}^{{tree}}", "-p", back, "-m", "More")
    assert [f.commit for f in signatures.missing(loc, now, later, trust)] == [back]
    # an older side that has touched code alone changes nothing
    merged = git(place, "commit-tree", f"{now}^{{tree}}", "-p", now, "-p", side, "-m", "Merge code")
    assert signatures.missing(loc, now, merged, trust) == []


@pytest.mark.parametrize("moment", [10**12, 10**17])
def test_a_commit_may_say_that_it_was_made_at_any_time(loc, keys, moment):
    place = loc.repo.place
    old = git(place, "rev-parse", "main")
    new = loc.repo.commit(teach(loc, "refund"))
    who = replace(new.committer, time=moment)
    sign = partial(signing.sign, namespace="git", key=str(keys / "pat"))
    made = objects.make_commit(new.tree, [old], who, who, "Add a page", sign=sign)
    assert refill.put(loc.repo, "commit", made.data) == made.id
    assert signatures.missing(loc, old, made.id) == []
    allowed = (keys / "allowed").read_text().replace(" ssh-", ' valid-before="20990101" ssh-', 1)
    (place / "until").write_text(allowed)
    (found,) = signatures.missing(loc, old, made.id, signatures.trust_of(loc.repo, place / "until"))
    assert (found.state, found.signer) == ("unknown", "")


def test_a_program_that_the_repository_names_is_not_run(loc, tmp_path):
    evil = tmp_path / "evil"
    evil.write_text("#!/bin/sh\ntouch " + str(tmp_path / "ran") + "\n")
    evil.chmod(0o755)
    for key in ("gpg.ssh.program", "gpg.program"):
        git(loc.repo.place, "config", key, str(evil))
    teach(loc, "refund")
    assert states(loc) == ["good"]
    assert not (tmp_path / "ran").exists()
    git(loc.repo.place, "config", "--global", "gpg.ssh.program", str(evil))  # the user's own is
    with pytest.raises(RefusedError, match="does not sign"):
        teach(loc, "exchange")
    assert (tmp_path / "ran").exists()


@pytest.mark.skipif(not HAS_GPG, reason="gpg is not installed")
def test_gpg_signs_plans_and_plain_git_verifies_them(tmp_path, monkeypatch):
    # gpg's agent listens on a socket, whose path must be short
    home = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    monkeypatch.setenv("GNUPGHOME", str(home))
    made = make_store(tmp_path / "desk")
    place = made.repo.place
    with (place / "xp.toml").open("a") as file:
        file.write('\n[sign]\nformat = "gpg"\n')
    git(place, "commit", "-qam", "Ask for signatures")
    loc = Location.find(place)
    try:
        with pytest.raises(RefusedError, match="does not sign as Pat"):
            teach(loc, "refund")
        command = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key"]
        who = "Pat <pat@example.org>"
        subprocess.run([*command, who, "ed25519", "sign"], check=True, capture_output=True)
        git(place, "verify-commit", teach(loc, "refund"))
        [found] = signatures.check(loc, "main")
        assert (found.state, found.signer) == ("good", who)
    finally:
        subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)
        shutil.rmtree(home)


def test_pages_are_as_without_signatures(loc):
    teach(loc, "refund")
    assert texts(loc, "main") == {"refund": page("refund")}

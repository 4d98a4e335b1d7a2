from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, texts, upsert
from xpstore import candidate
from xpstore.commit import commit
from xpstore.errors import NotFoundError, RefusedError, RepositoryError, UsageError
from xpstore.landing import land
from xpstore.location import Location

if TYPE_CHECKING:
    from pathlib import Path

BRANCH = "train/x"


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    """Return a store with a page on main, and two plans on the candidate."""
    found = make_store(tmp_path / "s")
    commit(found, [make_plan(found, upsert("old", page("old")))], "main")
    for name in ("a", "b"):
        commit(found, [make_plan(found, upsert(name, page(name)), branch=BRANCH)], BRANCH)
    return found


def proposed(loc: Location, branch: str = BRANCH) -> candidate.LandingCandidate:
    asked = candidate.request(loc, branch)
    old = candidate.where_to(loc, asked)
    return candidate.check(loc, candidate.LandingCandidate(asked.branch, asked.main, old, asked.tip))


def edit(loc: Location, path: str, data: bytes, message: str = "By hand") -> None:
    """Commit a file on the candidate as a person would; main is checked out again."""
    here = loc.repo.place
    git(here, "switch", "-q", BRANCH)
    (here / path).parent.mkdir(parents=True, exist_ok=True)
    (here / path).write_bytes(data)
    git(here, "add", ".")
    git(here, "commit", "-qm", message)
    git(here, "switch", "-q", "main")


def test_what_would_land(loc: Location) -> None:
    found = proposed(loc)
    assert (found.branch, found.main, found.is_landed) == (BRANCH, "main", False)
    assert (found.old, found.new) == (loc.repo.resolve("main"), loc.repo.resolve(BRANCH))
    assert [e.subject for e in found.entries] == ["Teach a", "Teach b"]
    assert len(found.plan_ids) == 2
    assert proposed(loc, f"refs/heads/{BRANCH}") == found


def test_what_people_commit_to_a_candidate_lands_too(loc: Location) -> None:
    edit(loc, "experiences/a.md", page("a", "By a person.").encode(), "Say it better")
    edit(loc, "experiences/picture.txt", b"no page\n")
    found = proposed(loc)
    assert [e.subject for e in found.entries] == ["Teach a", "Teach b", "Say it better"]
    assert len(found.plan_ids) == 2


@pytest.mark.parametrize(
    ("branch", "words", "hint"),
    [
        ("train/y", "there is no branch 'train/y'", "did you mean train/x"),
        ("nothing", "no branch 'nothing'", "xp status"),
        ("main", "where candidates land", "xp status"),
        ("xp/evidence", "the evidence branch", "xp status"),
        ("-x", "no name for a branch", ""),
        ("a..b", "no name for a branch", ""),
    ],
)
def test_what_is_no_candidate(loc: Location, branch: str, words: str, hint: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        candidate.request(loc, branch)
    assert hint in caught.value.hint


def test_another_branch_to_land_on(loc: Location) -> None:
    git(loc.repo.place, "branch", "release", "main")
    asked = candidate.request(loc, "main", onto="release")
    assert (asked.branch, asked.main, asked.main_ref) == ("main", "release", "refs/heads/release")
    assert candidate.where_to(loc, asked) == loc.repo.resolve("main")
    with pytest.raises(UsageError, match="release is where candidates land"):
        candidate.request(loc, "release", onto="release")
    with pytest.raises(UsageError, match="xp/evidence is the evidence branch"):
        candidate.request(loc, BRANCH, onto="xp/evidence")
    with pytest.raises(UsageError, match="no branch none to land on"):
        candidate.where_to(loc, candidate.request(loc, BRANCH, onto="none"))


def test_a_candidate_that_takes_most_pages_away_is_refused_with_their_names(loc: Location) -> None:
    names = [f"page-{number}" for number in range(9)]
    for name in names:
        commit(loc, [make_plan(loc, upsert(name, page(name)))], "main")
    git(loc.repo.place, "rebase", "-q", "main", BRANCH)
    git(loc.repo.place, "mv", "experiences/page-0.md", "experiences/renamed.md")
    git(loc.repo.place, "rm", "-q", *[f"experiences/{name}.md" for name in names[1:]])
    git(loc.repo.place, "commit", "-qm", "Make room")
    with pytest.raises(RefusedError) as caught:
        proposed(loc)
    assert caught.value.message == f"train/x would take 8 of 10 pages ({', '.join(names[1:])}) from main"
    assert "xp archive" in caught.value.hint
    git(loc.repo.place, "checkout", "-q", "HEAD~1", "--", *[f"experiences/{n}.md" for n in names[1:5]])
    git(loc.repo.place, "commit", "-qm", "Keep some")
    assert len(proposed(loc).entries) == 4
    assert candidate.shown([*names * 3]).endswith(" and 7 more")


def test_main_merged_into_the_candidate_would_become_a_side_line(loc: Location) -> None:
    commit(loc, [make_plan(loc, upsert("c", page("c")))], "main")
    git(loc.repo.place, "switch", "-q", BRANCH)
    git(loc.repo.place, "merge", "-q", "-m", "Bring it up to date", "main")
    with pytest.raises(RefusedError, match="side line") as caught:
        proposed(loc)
    assert "git rebase main train/x" in caught.value.hint
    git(loc.repo.place, "rebase", "-q", "main", BRANCH)
    assert len(proposed(loc).plan_ids) == 2


def test_candidates_that_were_merged_into_each_other_land_together(loc: Location) -> None:
    commit(loc, [make_plan(loc, upsert("c", page("c")), branch="train/y")], "train/y")
    git(loc.repo.place, "switch", "-q", BRANCH)
    git(loc.repo.place, "merge", "-q", "--no-ff", "-m", "Both", "train/y")
    assert len(proposed(loc).plan_ids) == 3


def test_code_is_not_landed_even_where_a_later_commit_takes_it_back(loc: Location) -> None:
    edit(loc, "app.py", b"print()\n")
    edit(loc, "xp.toml", (loc.repo.place / "xp.toml").read_bytes() + b"# changed\n")
    with pytest.raises(RefusedError, match=r"outside of experiences/: app\.py, xp\.toml") as caught:
        proposed(loc)
    assert "pull request" in caught.value.hint
    git(loc.repo.place, "switch", "-q", BRANCH)
    git(loc.repo.place, "revert", "--no-edit", "HEAD", "HEAD~1")
    with pytest.raises(RefusedError, match="outside of"):
        proposed(loc)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("bad name.md", b"x\n", "is not allowed"),
        ("a.md", "x\u202ey\n".encode(), "invisible text"),
        ("a.md", b"\xff\n", "it is not UTF-8"),
        ("a.md", b"x\n" * 2000, "lines: 2000"),
        ("OLD.md", b"x\n", "twin"),
        ("cafe\u0301.md", b"x\n", "not NFC"),
        ("a.md", b"---\nname: [\n---\n\nx\n", "front matter"),
    ],
)
def test_what_no_plan_may_write_does_not_land(loc: Location, name: str, data: bytes, words: str) -> None:
    edit(loc, f"experiences/{name}", data)
    with pytest.raises(RefusedError, match=words):
        proposed(loc)


def test_invisible_text_that_main_has_may_stay(loc: Location) -> None:
    here = loc.repo.place
    git(here, "switch", "-q", "main")
    (here / "experiences" / "old.md").write_text("x\u202ey\n")
    git(here, "commit", "-qam", "By hand")
    git(here, "rebase", "-q", "main", BRANCH)
    edit(loc, "experiences/old.md", "x\u202ey\nmore\n".encode())
    assert len(proposed(loc).entries) == 3


def test_links_do_not_land(loc: Location) -> None:
    here = loc.repo.place
    git(here, "switch", "-q", BRANCH)
    (here / "experiences" / "passwd").symlink_to("/etc/passwd")
    git(here, "add", ".")
    git(here, "commit", "-qm", "Link")
    with pytest.raises(RefusedError, match="symbolic link"):
        proposed(loc)


def test_a_store_in_a_folder_of_code(tmp_path: Path) -> None:
    here = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", str(here))
    loc = make_store(here / "agent" / "退款")
    commit(loc, [make_plan(loc, upsert("退款", page("退款")), branch=BRANCH)], BRANCH)
    assert len(proposed(loc).plan_ids) == 1
    edit(loc, "experiences/other.md", b"of another program\n")
    with pytest.raises(RefusedError, match=r"outside of agent/退款/experiences/: experiences/other\.md"):
        proposed(loc)


def test_a_clone_knows_main_and_the_candidate_of_its_remote(loc: Location, tmp_path: Path) -> None:
    git(loc.repo.place, "branch", "other", "main")
    git(tmp_path, "clone", "-q", "--branch", "other", str(loc.repo.place), "c")
    clone = Location.find(tmp_path / "c")
    assert clone.repo.ref(clone.main_ref) is None
    assert proposed(clone) == proposed(loc)


def test_no_main_and_no_whole_history(loc: Location, tmp_path: Path) -> None:
    commit(loc, [make_plan(loc, upsert("c", page("c")))], "main")
    url = f"file://{loc.repo.place}"
    git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", url, "c")
    with pytest.raises(RepositoryError, match="shallow"):
        land(Location.find(tmp_path / "c"), BRANCH)
    git(loc.repo.place, "switch", "-q", BRANCH)
    git(loc.repo.place, "branch", "-D", "main")
    with pytest.raises(NotFoundError, match="no branch main to land on"):
        proposed(loc)
    assert list(texts(loc, BRANCH)) == ["a", "b", "old"]


ASK = "Ask for the order number and the zip code before you cancel anything."
SAME = "Before you cancel anything, ask for the zip code and the order number."


def repeating(loc: Location) -> candidate.LandingCandidate:
    """Return a candidate with a page that says what main's `refund` says, and one that contradicts it."""
    commit(loc, [make_plan(loc, upsert("refund", page("refund", ASK)))], "main")
    opposite = page("new", ASK.replace("Ask for", "Never ask for"))
    commit(loc, [make_plan(loc, upsert("cancel", page("cancel", SAME)))], "train/again")
    commit(loc, [make_plan(loc, upsert("new", opposite), branch="train/again")], "train/again")
    asked = candidate.request(loc, "train/again")
    return candidate.LandingCandidate("train/again", "main", candidate.where_to(loc, asked), asked.tip)


def test_what_other_pages_say_already_is_found(loc: Location):
    found = candidate.repeated(loc, repeating(loc))
    assert ("page", "cancel", "refund") in [(d.kind, d.page, d.other) for d in found]
    assert ("contradiction", "new", "refund") in [(d.kind, d.page, d.other) for d in found]


@pytest.mark.parametrize("action", ["refuse", "ignore"])
def test_xp_toml_says_what_becomes_of_duplicates(loc: Location, action: str):
    config = loc.repo.place / "xp.toml"
    config.write_text(config.read_text().replace('action = "warn"', f'action = "{action}"'))
    git(loc.repo.place, "commit", "-qam", "Set it")
    what = repeating(loc)
    if action == "ignore":
        assert candidate.repeated(loc, what) == ()
        return
    with pytest.raises(RefusedError, match="cancel says what refund says already") as caught:
        candidate.repeated(loc, what)
    assert "[duplicates]" in caught.value.hint

from __future__ import annotations

import pytest

from hooks import page_rules
from hooks.changes import Change
from tests.builders import make_store, page
from xpstore import gitcli
from xpstore.objects import Entry
from xpstore.settings import Limits


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    """Only files are put into it, which disturb nobody."""
    return make_store(tmp_path_factory.mktemp("pages") / "store").repo


def entry(repo, name, text, mode=0o100644):
    data = text.encode() if isinstance(text, str) else text
    blob = gitcli.run(repo.place, ["hash-object", "-w", "--stdin"], stdin=data).decode().strip()
    return Entry(name, mode, blob)


def said(repo, path, text, *, before=None, mode=0o100644, limits=None):
    name = path.rpartition("/")[2]
    was = entry(repo, name, before) if before is not None else None
    change = Change(path, was, entry(repo, name, text, mode))
    return [r.text for r in page_rules.check_change(repo, change, "experiences", limits or Limits())]


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        ("experiences/a.md", page("a"), []),
        ("experiences/退款.md", page("退款"), []),
        ("experiences/notes.txt", "anything\u200b", []),
        ("experiences/sub/a.md", "anything", []),
        ("experiences/b c.md", page("b"), ["invalid experience name 'b c': ' ' is not allowed"]),
        ("experiences/CON.md", page("c"), ["invalid experience name 'CON': some systems reserve it for"]),
        ("experiences/a.md", b"\xff", ["it is not UTF-8"]),
        ("experiences/a.md", "a\u202eb", ["invisible text (bidi"]),
        ("experiences/a.md", "foo\u200dbar", ["invisible text ("]),
        (
            "experiences/a.md",
            "👩\u200d👧 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f می\u200cخواهم",
            [],
        ),
        ("experiences/a.md", "---\nname: [\n---\n", ["front matter"]),
        ("experiences/a.md", "---\nname: a\n<<<<<<< HEAD\n=======\n>>>>>>> b\n---\n", ["front matter"]),
        ("experiences/a.md", "one\n<<<<<<< a\n=======\n>>>>>>> b\n", ["conflict markers are left in it"]),
        ("experiences/a.md", "one\n<<<<<<< a\ntwo\n", ["conflict markers are left in it: <<<<<<<"]),
        ("experiences/a.md", "one\n||||||| base\n>>>>>>> b\n", ["are left in it: >>>>>>>, |||||||"]),
        ("experiences/a.md", "```\n<<<<<<< a\n=======\n>>>>>>> b\n```\n", []),
        ("experiences/a.md", page("b"), ["its `name` is b"]),
        (
            "experiences/a.md",
            page("a", "Always ask.", "Never ask."),
            ["'Never ask.' command opposite"],
        ),
        ("experiences/a.md", "Heading\n=======\n", []),
        ("experiences/.gitattributes", "* filter=x", [".gitattributes would tell git what to do"]),
        ("experiences/sub/.GIT/config", "x", [".GIT would tell git what to do"]),
    ],
)
def test_what_may_be_a_page(repo, path, text, wanted):
    found = said(repo, path, text)
    assert len(found) == len(wanted), found
    assert all(w in f and f.startswith(path) for w, f in zip(wanted, found, strict=True)), found


@pytest.mark.parametrize("mode", [0o120000, 0o160000])
def test_links_and_submodules_are_no_pages_whatever_their_name(repo, mode):
    for path in ("experiences/a.md", "experiences/sub/b", "experiences/c"):
        assert said(repo, path, "../../etc/passwd", mode=mode) == [
            f"{path}: it is a symbolic link or a submodule, and neither is followed"
        ]


def test_limits_hold_for_pages_and_for_what_lies_beside_them(repo):
    limits = Limits(file_bytes=100, file_lines=3)
    assert said(repo, "experiences/a.md", "x" * 101, limits=limits) == [
        "experiences/a.md: 101 bytes, the limit is 100"
    ]
    assert said(repo, "experiences/a.bin", "x" * 101, limits=limits) == [
        "experiences/a.bin: 101 bytes, the limit is 100"
    ]
    assert said(repo, "experiences/a.md", "1\n2\n3\n4\n", limits=limits) == [
        "experiences/a.md: lines: 4, the limit is 3"
    ]


def test_what_was_there_before_may_stay(repo):
    hidden, quoted = "a\u200bb", "```\n<<<<<<< a\n=======\n>>>>>>> b\n```\n"
    assert said(repo, "experiences/a.md", f"{hidden} more", before=hidden) == []
    assert said(repo, "experiences/a.md", f"{quoted}more\n", before=quoted) == []
    assert said(repo, "experiences/a.md", page("b", "More."), before=page("b")) == []


def test_what_goes_is_never_wrong(repo):
    gone = Change("experiences/b c.md", entry(repo, "b c.md", "x"), None)
    assert list(page_rules.check_change(repo, gone, "experiences", Limits())) == []


def test_twins_are_refused_when_they_come_and_left_alone_afterwards():
    names = ["A", "a", "é"]
    found = [r.text for r in page_rules.check_names({"A"}, names, "experiences")]
    assert found == ["experiences: experience 'A' would be the twin of 'a'"]
    assert list(page_rules.check_names(set(), names, "experiences")) == []
    assert list(page_rules.check_names({"é"}, names, "experiences")) == []


def test_links_to_pages_that_are_not_there_are_told():
    text = "[a](a.md) [b](b.md#x) [c](../c.md) [web](https://x.org/d.md) [e](<e.md>) [top](/f.md) [b](b.md)"
    known = {"s/experiences/a.md", "s/c.md"}
    found = [r.text for r in page_rules.broken_links(text, "s/experiences/x.md", known)]
    assert found == ["s/experiences/x.md: there is no b.md", "s/experiences/x.md: there is no e.md"]

from __future__ import annotations

import re

from tests.trainer.gate.reports import NASTY, report_of
from trainer.gate.markdown import LIMIT, markdown, marker


def bare(text: str) -> str:
    """The Markdown outside of code spans and blocks."""
    text = re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


def test_it_says_what_was_decided_and_on_what():
    text = markdown(report_of())
    assert text.startswith("<!-- xp-gate s1 train/1 -->\n## Gate: ACCEPT, progress\n")
    for part in (
        "| pass rate | 25.0% | 50.0% | +25.0 points |",
        "| all of 4 attempts pass |",
        "12 cases, 4 attempts at each, 12 better, 0 worse",
        "| `harmless 0` | `+--?` | `+++-` | +25 |",
        "- added: `harmless`",
        "perhaps by chance: `harmless`",
        "- `harmless`, attempt 2: `harmless`",
        "### What does not land by itself: a person has to read it\n\n- `harmless`\n",
        "### What it teaches (1)",
        "<details><summary>Evidence</summary>",
        f"candidate `{'a' * 12}`, experiences `{'c' * 40}`",
        "- 10 trials were run in 1.5 s, 6 scores were on record",
        "decision `gates/ab/abc.json`, decided by `gate`",
        "- again: `xp gate train/1`",
    ):
        assert part in text, part


def test_links_point_to_the_site_where_one_is_named():
    text = markdown(report_of(url="https://git.example/pat/desk"))
    assert f"[`{'a' * 12}`](https://git.example/pat/desk/commit/{'a' * 40})" in text
    assert "(https://git.example/pat/desk/blob/xp/evidence/gates/ab/abc.json)" in text
    assert "](" not in bare(markdown(report_of()))


def test_nothing_that_a_store_says_is_markup():
    text = markdown(report_of(text=NASTY))
    rest = bare(text)
    for trick in ("<img", "@everyone", "](http", "**d**", "#1"):
        assert trick in text
        assert trick not in rest
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", text)
    assert text.count("-->") == 1 + text.count("#1 -->")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 5 for row in rows)


def test_a_report_is_never_too_long_for_a_comment():
    text = markdown(report_of(text="lesson " * 40, lessons=200, flips=500))
    assert len(text) < LIMIT
    assert "and 460 more" in text
    assert re.search(r"… and \d+ more: `xp log train/1`", text)
    assert "- again: `xp gate train/1`" in text


def test_a_comment_is_found_again_by_store_and_branch():
    assert marker("s1", "train/a-b --> c") == "<!-- xp-gate s1 train/a_b_____c -->"

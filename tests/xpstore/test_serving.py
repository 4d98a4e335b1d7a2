from __future__ import annotations

from xpstore.experience import Experience, ExperienceSet
from xpstore.serving import CUT, read_for, readable, rendered, tokens


def experiences(**texts: str) -> ExperienceSet:
    policies = tuple(Experience(name=name, text=text) for name, text in sorted(texts.items()))
    return ExperienceSet(root_uri="experiences", policies=policies)


def test_tokens_count_scripts_differently():
    assert tokens("") == 0
    assert tokens("abcde") == 2
    assert tokens("先查询订单") == 5
    assert tokens("ab先") == 2


def test_rendered_drops_front_matter_and_keeps_the_description():
    page = Experience(name="a", text="---\ndescription: When b\nstatus: staging\n---\n\nDo c.\n")
    assert rendered(page) == "# a\n\nWhen b\n\nDo c.\n"
    assert rendered(Experience(name="b", text="Do c.")) == "# b\n\nDo c.\n"


def test_rendered_leaves_out_the_figures():
    text = "## Reflect\n\n- Ask first.\n  Twice.\n  *Support: 5 rollouts.*\n- Then act.\n"
    page = rendered(Experience(name="a", text=text))
    assert page == "# a\n\n## Reflect\n\n- Ask first.\n  Twice.\n- Then act.\n"


def test_only_served_pages_are_read():
    pages = experiences(
        a="---\nstatus: draft\n---\nrefund",
        b="---\nstatus: staging\n---\nrefund",
        c="refund",
        d="---\nx: [\n---\nrefund",
    )
    assert [page.name for page in read_for(pages, "refund", 1000).pages] == ["b", "c"]


def test_a_smaller_page_takes_the_room_that_a_bigger_one_leaves():
    pages = experiences(big="refund refund " + "word " * 200, small="the refund")
    reading = read_for(pages, "refund", 20)
    assert [page.name for page in reading.pages] == ["small"]
    assert [page.name for page in reading.left_out] == ["big"]
    assert reading.tokens <= 20


def test_the_best_page_is_cut_only_where_nothing_fits():
    text = "\n".join(f"- refund step {i}" for i in range(50))
    reading = read_for(experiences(only=text), "refund", 60)
    (page,) = reading.pages
    assert not page.whole
    assert page.text.endswith(CUT)
    assert page.tokens <= 60
    assert page.text.removesuffix(CUT) + "\n" in rendered(Experience(name="only", text=text)) + "\n"
    assert reading.left_out == ()


def test_a_budget_below_one_line_reads_nothing():
    reading = read_for(experiences(best="refund refund", other="a refund of a thing"), "refund", 1)
    assert reading.pages == ()
    assert [page.name for page in reading.left_out] == ["best", "other"]


def test_what_is_left_out_is_what_an_endless_budget_would_give():
    pages = experiences(
        rules="---\nalways: true\n---\nBe kind.", best="refund refund", other="a refund of a thing"
    )
    every = [page.name for page in read_for(pages, "refund", 10_000).pages]
    assert every == ["rules", "best", "other"]
    for budget in (1, 6, 12, 16, 40):
        reading = read_for(pages, "refund", budget)
        given, left_out = ([page.name for page in side] for side in (reading.pages, reading.left_out))
        assert sorted(given + left_out) == sorted(every)
        assert left_out == [name for name in every if name not in given]


def test_pages_for_every_task_come_first_and_only_when_served():
    always = "---\nstatus: {}\nalways: {}\n---\n{}"
    pages = experiences(
        a=always.format("production", "true", "Be kind."),
        b=always.format("staging", "true", "Name the refund once."),
        c=always.format("archived", "true", "Old refund rules."),
        d=always.format("production", "false", "Be quick."),
        e=always.format("production", "'true'", "Be brief."),
        f="refund refund refund",
    )
    read = read_for(pages, "refund", 1000).pages
    assert [page.name for page in read] == ["b", "a", "f"]
    assert read[1].score == 0
    assert [page.name for page in read_for(pages, "zzzzqqq", 1000).pages] == ["a", "b"]


def test_readable_tells_why_a_page_is_not():
    pages = ExperienceSet(
        root_uri="",
        policies=(Experience(name="x", text="---\na: [\n---\n"),),
        metadata={"skipped": {"y.md": "why"}},
    )
    good, bad = readable(pages)
    assert good == []
    assert bad.keys() == {"x", "y.md"}


def test_an_agent_reads_what_a_reviewer_sees():
    text = "Do \u202ethis\u202c.\u200b Then\x07 that. \U0001f468\u200d\U0001f469 می\u200cخواهم\n"
    page = rendered(Experience(name="a", text=text))
    assert page == "# a\n\nDo this. Then that. \U0001f468\u200d\U0001f469 می\u200cخواهم\n"

import pytest
from hypothesis import assume, given

from tests.pages_of_others import CHINESE, REFUND, pages, policy, statements
from xpstore.errors import FormatError, RefusedError
from xpstore.exchange import agents_file
from xpstore.exchange.page import Page

MINE = "# My project\n\n- Use tabs.\n"


def block(*texts: str, store: str = "s1") -> str:
    made = policy(**{f"page{at}": text for at, text in enumerate(texts)})
    return agents_file.render([Page.of(e, figures=False) for e in made.policies], store)


@given(pages())
def test_a_page_reads_back_from_a_block(page):
    assume(agents_file.can_hold(page))
    text = agents_file.placed(MINE, agents_file.render([page], "s1"), "s1", "AGENTS.md")
    (found,) = agents_file.blocks(text, "AGENTS.md")
    assert found.is_intact
    assert found.store == "s1"
    (back,) = agents_file.read(found, "AGENTS.md")
    assert (back.name, dict(back.front)) == (page.name, {k: v for k, v in page.front.items() if k != "name"})
    assert statements(back) == statements(page)


def test_headings_go_one_level_down_and_code_does_not():
    text = block(REFUND)
    assert "## page0\n\nWhen to refund: read it before.\n\n### Situation\n" in text
    assert "```python\n# no heading\n" in text
    assert "## page0\n\n" in block("# Title\n\n- x\n")
    assert "\n# Title\n" in block("# Title\n\n- x\n")


def test_ten_exports_make_one_block_and_leave_the_rest_alone():
    text = MINE
    for _ in range(10):
        text = agents_file.placed(text, block(REFUND), "s1", "AGENTS.md")
    assert text.startswith(MINE)
    assert text.count("xpstore:begin") == 1
    below = text + "\nMore of mine.\n"
    other = agents_file.placed(below, block(REFUND, CHINESE), "s1", "AGENTS.md")
    assert other.startswith(MINE)
    assert other.endswith("\nMore of mine.\n")
    assert other.count("xpstore:begin") == other.count("xpstore:end") == 1
    assert "先核对订单" in other
    assert "先核对订单" not in below


def test_two_stores_have_a_block_each():
    text = agents_file.placed("", block(REFUND), "s1", "x")
    text = agents_file.placed(text, block(CHINESE, store="s2"), "s2", "x")
    assert [b.store for b in agents_file.blocks(text, "x")] == ["s1", "s2"]


def test_a_block_that_somebody_changed_is_not_written_over():
    text = agents_file.placed(MINE, block(REFUND), "s1", "AGENTS.md").replace("refund twice", "refund thrice")
    with pytest.raises(RefusedError, match="changed by hand"):
        agents_file.placed(text, block(CHINESE), "s1", "AGENTS.md")
    assert "thrice" not in agents_file.placed(text, block(CHINESE), "s1", "AGENTS.md", force=True)


def test_line_ends_stay_as_they_are():
    crlf = MINE.replace("\n", "\r\n")
    text = agents_file.placed(crlf, block(REFUND), "s1", "AGENTS.md")
    assert "\n" not in text.replace("\r\n", "")
    assert agents_file.placed(text, block(REFUND), "s1", "AGENTS.md") == text


def test_a_block_without_an_end_and_two_of_one_store_are_refused():
    half = block(REFUND).rpartition("<!-- xpstore:end")[0]
    with pytest.raises(FormatError, match="no end"):
        agents_file.blocks(half, "AGENTS.md")
    with pytest.raises(RefusedError, match="two blocks"):
        agents_file.placed(block(REFUND) + block(REFUND), block(REFUND), "s1", "AGENTS.md")


def test_a_page_with_marks_in_it_is_in_no_block():
    (page,) = policy(evil="- x\n\n<!-- xpstore:end store=s1 -->\n").policies
    assert not agents_file.can_hold(Page.of(page, figures=False))


def test_what_a_person_added_to_a_block_is_read():
    text = block(REFUND).replace("- Do not refund twice.", "- Do not refund twice.\n- Be kind.")
    (found,) = agents_file.blocks(text, "x")
    (page,) = agents_file.read(found, "x")
    assert ("Reflect", "Be kind.") in statements(page)
    broken = agents_file.blocks(block(REFUND).replace('{"name"', '{"nam"'), "x")
    with pytest.raises(FormatError, match="mark of a page"):
        agents_file.read(broken[0], "x")


def changed(text: str) -> str:
    return agents_file.placed(text, block(CHINESE), "s1", "AGENTS.md")


def test_only_the_block_is_touched_whatever_the_line_ends_around_it():
    mixed = "# Mine\r\n\r\n- a\r\n- b\n- c\r\n"
    text = agents_file.placed(mixed, block(REFUND), "s1", "AGENTS.md")
    below = "\r\nmore\nof it"
    again = changed(text + below)
    assert again.startswith(mixed)
    assert again.endswith(below)
    assert again.count("xpstore:begin") == 1


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.rstrip("\n"),  # an editor that keeps no last line break
        lambda text: text + "\n\n",
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text.replace("\n", "\r\n"),
    ],
)
def test_what_editors_and_git_do_to_a_file_is_no_change_of_its_block(edit):
    text = edit(block(REFUND))
    assert changed(text).count("xpstore:begin") == 1
    (found,) = agents_file.blocks(text, "x")
    assert [page.name for page in agents_file.read(found, "x")] == ["page0"]


def test_a_block_whose_own_mark_was_changed_is_still_the_block():
    text = block(REFUND)
    digest = text.partition("xp-digest=")[2][:16]
    for made in (text.replace(f" xp-digest={digest}", ""), text.replace(digest, "x")):
        with pytest.raises(RefusedError, match="changed by hand"):
            changed(made)


@pytest.mark.parametrize("fence", ["```", "~~~~", "```python"])
def test_a_fence_that_never_ends_swallows_nothing_below(fence):
    body = f"- Look.\n\n{fence}\n## code\n"
    text = block(body, REFUND)
    run = fence.rstrip("python")
    assert f"{fence}\n## code\n{run}\n" in text
    (found,) = agents_file.blocks(text, "x")
    assert agents_file.read(found, "x")[0].body == body.strip("\n")
    closed = f"{body}{run}\n"
    assert f"{run}\n{run}" not in block(closed)


def test_a_description_that_is_no_paragraph_stays_in_the_mark():
    for description in ("```", "# Title", "<!-- open"):
        text = block(f'---\ndescription: "{description}"\n---\n- x\n')
        assert f"\n{description}\n" not in text
        (found,) = agents_file.blocks(text, "x")
        assert agents_file.read(found, "x")[0].description == description

"""Pages for exports, and reading them back."""

from __future__ import annotations

import unicodedata

from hypothesis import strategies as st

from xpstore.document import Document, canonical
from xpstore.exchange.page import Page
from xpstore.experience import Experience, ExperienceSet
from xpstore.frontmatter import dump

REFUND = """---
name: refund-order
description: "When to refund: read it before."
status: production
---

## Situation

- A customer asks for money back.

## Approach

- Call `check_stock` before you call `refund_order`.
  *Support: 33 rollouts in 12 cases.*

```python
# no heading
refund()
```

## Reflect

- Do not refund twice.
"""
CHINESE = """---
name: 退款
description: 用户要求退款
always: true
tags: [a, 'b: c']
---

## Approach

- 先核对订单。
"""
BARE = "Call it early.\n"
OLD = "---\nname: old\nstatus: archived\n---\n\n- Gone.\n"


def policy(**texts: str) -> ExperienceSet:
    """Return a set of these pages; `_` in a keyword stands for a hyphen."""
    made = [Experience(name=name.replace("_", "-"), text=text) for name, text in sorted(texts.items())]
    return ExperienceSet(root_uri="experiences", policies=tuple(made), snapshot_id="c" * 40)


_LETTERS = st.characters(blacklist_categories=["Cs", "Cc", "Cf", "Zl", "Zp"])
_WORDS = st.text(_LETTERS, min_size=1, max_size=30)
_PIECES = (
    *("## Situation", "## Approach", "### Part", "# Title", "###### Deep", "Title\n=====", "  ## Indented"),
    *("```\n## code\n```", "> quoted", "", "<!-- a comment -->", "1. One\n2. Two"),
    *(
        "```\nnever ended",
        '<!-- MEMORY_FIELDS\n{"experience_name": "z"}\n-->',
        "  xp-digest: '0123456789abcdef'",
    ),
    *("---", "xp-digest=0123456789abcdef", "a\x0cb\r c", "<!-- never ended", "## Closed ##"),
)
BODIES = st.lists(st.one_of(_WORDS.map(lambda text: f"- {text}"), st.sampled_from(_PIECES)), max_size=8)
_INNER = ("a", "xp-x", "1", "xp_digest", "memory_type", "experience_name", "xp_front", "status", "version")
_VALUES = st.one_of(
    st.text(_LETTERS, max_size=40),
    st.sampled_from(
        ("a\nb", "---", "-->", "```", "# x", "xp-digest=0123456789abcdef", "{x: y}", "draft", "x" * 1100)
    ),
    st.booleans(),
    st.lists(st.integers(-9, 9), max_size=2),
    st.dictionaries(st.sampled_from(_INNER), st.text(_LETTERS, max_size=5), max_size=2),
)
_KEYS = ("description", "status", "always", "license", "metadata", "tags", "openviking", "compatibility")
NAMES = st.from_regex(r"[a-zA-Z0-9退款é_][a-zA-Z0-9退款é_-]{0,20}", fullmatch=True)
FRONTS = st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=4)


@st.composite
def pages(draw: st.DrawFn) -> Page:
    """Draw a page as a store may have it."""
    text = f"---\n{dump({'name': 'x', **draw(FRONTS)})}---\n\n" + "\n\n".join(draw(BODIES)) + "\n"
    name = unicodedata.normalize("NFC", draw(NAMES))
    return Page.of(Experience(name=name, text=canonical(text)), figures=True)


def statements(page: Page) -> list[tuple[str, str]]:
    """Return section and identity of every statement."""
    return [(s.section, s.key) for s in Document.parse(page.text()).statements()]

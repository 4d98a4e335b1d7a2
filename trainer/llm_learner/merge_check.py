"""Is an answer about edits that meet complete and true? Decided by code, whoever answers. Pure.

The checks are those of the store's merges (xpstore/account_check.py, resolution_check.py, guards.py): every
edit is a version of its page. What no edit touches stays word for word, for people may have written it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from trainer.llm_learner.claims import is_plain, wording_problems
from xpstore.account_check import check_account
from xpstore.conflict import Hunk, Numbered
from xpstore.document import Document
from xpstore.errors import DocumentError, InvalidNameError
from xpstore.fidelity import content, names
from xpstore.markdown import Statement
from xpstore.names import check_name, fold
from xpstore.redact import find_secrets
from xpstore.resolution_check import check_repeated, check_text, errors
from xpstore.resolver import Claim
from xpstore.wording import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from trainer.llm_learner.merge_account import Account
    from trainer.llm_learner.merge_form import PageChange, PageFate, PageWording
    from trainer.llm_learner.union import Said

T = TypeVar("T")

UNKNOWN = 0.7
"""Share of a description's words that nothing has which is shown: a reader chooses pages by it."""


def objections(account: Account) -> list[str]:
    """Return everything that speaks against the pages of an answer, in sentences."""
    found = list(_form(account))
    if found:
        return found
    try:
        texts = account.texts()
    except DocumentError as error:
        return [error.message]
    return [*_statements(account, texts), *_texts(account, texts)]


def _form(account: Account) -> Iterator[str]:
    """Yield what keeps the answer from being read as pages."""
    for number in _repeated(f.number for f in account.fates):
        yield f"statement {number} is accounted for more than once"
    for page in _repeated(c.page for c in account.changes):
        yield f"page {page} is changed in more than one way"
    for name in _repeated(account.final.values()):
        yield f"more than one page is called {name} in the end"
    for change in account.changes:
        yield from (f"page {change.page}: {problem}" for problem in _page_problems(account, change))
    for wording in account.wordings:
        yield from (f"wording {wording.number}: {problem}" for problem in _wording_problems(account, wording))
    for fate in account.fates:
        yield from (f"statement {fate.number}{problem}" for problem in _fate_problems(account, fate))
    yield from _homeless(account)


def _repeated(values: Iterable[T]) -> list[T]:
    return [value for value, n in Counter(values).items() if n > 1]


def _fate_problems(account: Account, fate: PageFate) -> Iterator[str]:
    """Yield how a sentence about the statement goes on."""
    said = account.union.by_number[fate.number]
    if fate.fate == "merged" and account.union.stays(said) and not _is_same(account, said, fate.into):
        yield " is one that no edit touches: it stays, word for word"
    if fate.fate == "kept" and fate.page and fate.page not in {*account.final, *account.final.values()}:
        yield f" is kept on {fate.page}, and there is no such page in the end"
    is_led = fate.fate in {"merged", "superseded"}
    if is_led and fate.into not in {*account.worded, *account.union.by_number}:
        yield f" leads to {fate.into}, and there is nothing of that number"
    if not is_plain(fate.reason, account.mark):
        yield " has a reason that is not one plain line"


def _is_same(account: Account, said: Said, number: int) -> bool:
    other = account.union.by_number.get(number)
    return other is not None and terms(other.text) == terms(said.text)


def _homeless(account: Account) -> Iterator[str]:
    """Yield what is kept, and on no page; and pages that are left with nothing."""
    for said in account.union.statements:
        fate = account.by_number.get(said.number)
        is_kept = not said.is_open if fate is None else fate.fate == "kept"
        if is_kept and account.page_of(said) is None:
            yield f"page {said.page} is deleted, and nothing says where statement {said.number} goes"
    standing = {account.page_of(s) for s in account.union.statements}
    standing |= {account.final.get(w.page, w.page) for w in account.wordings}
    for before, after in account.final.items():
        if (
            account.union.current.get(before) is not None
            and account.union.of(before)
            and after not in standing
        ):
            yield f"page {before} says nothing in the end, and it is not deleted"


def _wording_problems(account: Account, wording: PageWording) -> Iterator[str]:
    sources = [s.text for s in account.sources(wording)]
    yield from wording_problems(account.worded[wording.number], account.mark, sources)
    if wording.page not in {*account.final, *account.final.values()}:
        yield f"there is no page {wording.page} in the end"
    if wording.section not in {s.section for s in account.sources(wording)}:
        yield f"it is in section {wording.section!r}, and nothing that it says is"
    if sum(w.number == wording.number for w in account.wordings) > 1:
        yield "there is another one of its number"


def _page_problems(account: Account, change: PageChange) -> Iterator[str]:
    group = account.union.group.pages
    if (change.change == "new") == (change.page in group):
        yield "it is there" if change.page in group else "there is no such page"
        return
    name = change.page if change.change == "new" else change.name
    if change.change in {"new", "renamed"}:
        try:
            check_name(name)
        except InvalidNameError as error:
            yield error.message
            return
        if find_secrets(name):
            yield "its name holds what looks like a secret"
        others = {fold(n) for n in (*account.taken, *group) if change.change == "new" or n != change.page}
        if fold(name) in others:
            yield f"there is a page {name} already"
    if change.change in {"new", "described"} and not change.description.strip():
        yield "it has no description"
    if change.description:
        yield from _description_problems(account, change.description)


def _description_problems(account: Account, text: str) -> Iterator[str]:
    shown = [s.text for s in account.union.statements]
    for page, document in account.union.heads.items():
        shown += [page.replace("-", " "), str(document.front.get("description", ""))]
        shown += account.union.descriptions.get(page, ())
    new = sorted(names(text) - {name for line in shown for name in names(line)})
    if new:
        yield f"its description has {', '.join(new)}, which nothing that is shown has"
    words = content(text)
    unknown = words - {word for line in shown for word in content(line)}
    if len(unknown) > UNKNOWN * len(words):
        yield f"its description is about something else: {', '.join(sorted(unknown))}"
    if not is_plain(text, account.mark):
        yield "its description is not one plain line"


def _statements(account: Account, texts: dict[str, str]) -> Iterator[str]:
    """Check the account as that of a merge whose versions are the edits."""
    union = account.union
    versions = tuple(map(str, range(1, len(union.group.patches) + 1)))
    numbered = tuple(Numbered(s.number, "", s.text, _sides(account, s, versions)) for s in union.statements)
    result = [s for text in texts.values() for s in Document.parse(text).statements()]
    named = {s.number: s.text for s in union.statements} | account.worded
    claims = {s.number: _claim(account, s, named) for s in union.statements}
    stated = {number: claim for number, claim in claims.items() if claim is not None}
    hunk = Hunk("", numbered, versions)
    yield from errors(check_account(hunk, [s.text for s in result], (), stated))
    base = [Statement(s.text, s.section) for s in union.statements if s.is_there]
    edits = [
        [
            Statement(s.text, s.section)
            for s in union.statements
            if n in s.added_by or (s.is_there and n not in s.taken_by)
        ]
        for n in range(1, len(versions) + 1)
    ]
    yield from errors(check_repeated(base, edits, result))


def _claim(account: Account, said: Said, texts: Mapping[int, str]) -> Claim | None:
    """Return what is claimed of a statement; of one that no edit touches, nothing has to be said.

    What has to stay is merged only into its own words, and then it stands. Of all else, the words may stand
    elsewhere: as a statement of another page, or as a wording.
    """
    fate = account.by_number.get(said.number)
    if fate is None:
        return None if said.is_open else Claim(said.number, "kept")
    claim = fate.claim(texts)
    standing = {s.text for s in account.union.statements if account.page_of(s) is not None}
    standing.update(account.worded.values())
    is_said = claim.into == said.text or not account.union.stays(said)
    return Claim(said.number, "kept") if is_said and said.text in standing else claim


def _sides(account: Account, said: Said, versions: Sequence[str]) -> frozenset[str]:
    """Return which versions have a statement.

    One that no edit touches is lost where it is not kept; merged, it is checked as if it had just been added.
    """
    if not said.is_there:
        return frozenset(map(str, said.added_by))
    fate = account.by_number.get(said.number)
    if not said.taken_by and fate is not None and fate.fate == "merged":
        return frozenset({"now"})
    return frozenset({"base", *versions} - set(map(str, said.taken_by)))


def _texts(account: Account, texts: dict[str, str]) -> Iterator[str]:
    """Check each page as a whole: markers, front matter, opposite commands that no version had."""
    current = [text for text in account.union.current.values() if text is not None]
    proposed = [p.after_file.content for p in account.union.group.patches if p.after_file]
    for name, text in texts.items():
        yield from (f"{name}: {problem}" for problem in errors(check_text((*current, *proposed), text, name)))

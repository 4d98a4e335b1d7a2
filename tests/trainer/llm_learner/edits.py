"""Edits of small pages, and the context that a merger sees of them."""

from __future__ import annotations

import asyncio

from tests.trainer.doubles import page
from trainer.patch_merge import PatchMergeContext, PatchMergeContextProvider, PatchMergePatch
from xpstore.experience import Experience, ExperienceSet, MemoryFile
from xpstore.gradient import PatchSemanticGradient


def text(name: str, *lessons: str) -> str:
    """Return a page with these lessons as list items."""
    return page(name, "\n- ".join(lessons))


def edit(name: str, before: str | None, after: str | None, **fields: object) -> PatchSemanticGradient:
    return PatchSemanticGradient(
        before_file=None if before is None else MemoryFile(name=name, content=before),
        after_file=None if after is None else MemoryFile(name=name, content=after),
        rationale=f"seen in {name}",
        confidence=0.5,
        **fields,
    )


def policy(**pages: str) -> ExperienceSet:
    """Return a policy; an underscore in a name stands for a hyphen."""
    names = {name.replace("_", "-"): content for name, content in pages.items()}
    found = tuple(Experience(name=n, text=names[n]) for n in sorted(names))
    return ExperienceSet(root_uri="experiences", policies=found, snapshot_id="c" * 40)


def context_of(*edits: PatchSemanticGradient, **pages: str) -> PatchMergeContext:
    patches = [PatchMergePatch.from_gradient(one) for one in edits]
    return asyncio.run(PatchMergeContextProvider(patches, policy(**pages)).prefetch())


def two_groups() -> tuple[list[PatchSemanticGradient], dict[str, str]]:
    """Return two edits of page a and two of page b, which say nothing alike, and the pages."""
    pages = {"a": text("a", "Be short."), "b": text("b", "Look at the bill.")}
    lessons = {"a": ("Ask for the name.", "Never shout."), "b": ("Add the tax.", "Round down to cents.")}
    edits = [edit(n, pages[n], f"{pages[n]}- {lesson}\n") for n in pages for lesson in lessons[n]]
    return edits, pages

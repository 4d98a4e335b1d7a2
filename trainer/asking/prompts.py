"""The prompts: versioned files of `trainer/prompts/`, without any data."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from trainer.asking.question import Prompt
from trainer.errors import ComponentError

_FORM = re.compile(
    r"---\nname: (?P<name>[a-z_]+)\nversion: (?P<version>\d+)\n---\n(?P<system>Stage: [a-z]+\n.+)", re.DOTALL
)


@cache
def prompt(name: str) -> Prompt:
    """Return the prompt of this name.

    Raises ComponentError where there is none, or its file is not of the form of one.
    """
    try:
        text = files("trainer").joinpath("prompts", f"{name}.md").read_text("utf-8")
    except FileNotFoundError:
        raise ComponentError(f"there is no prompt '{name}'") from None
    return parse(text, name)


def parse(text: str, name: str) -> Prompt:
    """Read the file of a prompt: name and version, then what is sent, which begins with the stage.

    Raises ComponentError where it is not of this form.
    """
    form = _FORM.fullmatch(text)
    if form is None or form["name"] != name:
        raise ComponentError(f"the prompt '{name}' does not begin with its name, version and stage")
    return Prompt(name, int(form["version"]), form["system"].strip())

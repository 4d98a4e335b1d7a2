"""What a hook has to say, as text that a terminal cannot be driven with."""

from __future__ import annotations

from dataclasses import dataclass

from xpstore.names import invisible_spans

_BREAKS = frozenset("\n\r\t\x0b\x0c\x85\u2028\u2029")
"""Legal in a text, and yet able to look like another line of the message."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that a person should know: what and where, and what to do about it."""

    text: str
    hint: str = ""
    blocks: bool = True
    """Whether the commit or the push must not go on."""

    def lines(self) -> list[str]:
        """Return the lines to print, a line each, without the line break."""
        head = f"{'error' if self.blocks else 'warning'}: {harmless(self.text)}"
        return [head, f"hint: {harmless(self.hint)}"] if self.hint else [head]


def harmless(text: str) -> str:
    """Return text with every control or invisible character written out: `<U+001B>`, line breaks included.

    File names and pages come from whoever pushes; git shows what a hook prints to everybody else.
    """
    hidden = {at for start, end, _ in invisible_spans(text) for at in range(start, end)}
    hidden |= {at for at, char in enumerate(text) if char in _BREAKS}
    return "".join(f"<U+{ord(char):04X}>" if at in hidden else char for at, char in enumerate(text))


def listed(names: list[str], shown: int = 5) -> str:
    """Return the first few names, and how many there are besides."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more

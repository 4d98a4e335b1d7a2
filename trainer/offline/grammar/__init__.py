"""The grammar of lessons: sentences that people write and read, and that a transcript can be checked against.

`trainer/offline/LESSONS.md` shows it to people; the scripted agents (`trainer.environments.scripted`) read it
with this parser.

    decision     Do not call `T` when CONDITION.
    refused      Do not call `T` when CONDITION: it answers “ERROR”.
    call-before  Call `R` before you call `T`.
    call-after   After you call `T`, call `U`.
    not-after    Do not call `T` after `U`.
    once         Do not call `T` twice for the same `k`.
    do-call      Do not end without having called `T`.
    read-all     Before you call `T`, call `R` for every entry of the `f` of `S`.
    recover      When `T` answers “ERROR”,[ call `R` and] call it again[ with another `k`].
    no-repeat    Do not repeat a call of `T` unchanged after it was refused.
    take-from    When you call `T`, take `k` from what you have read; do not make one up.
    look-up      When the user does not have the `k`, call `R` and look it up under `f`.
    make-sure    Before you call `T`, make sure that its `k` is what was asked for.
    see-through  When a request calls for `T`, make the call before you end; do not stop at asking.
                 When a request calls for a change, make every call for it before you end; …
    confirm      Wait for the user's clear yes right before you call `T`.

CONDITION is described in `condition`. ERROR is a refusal with literals masked (`masking.error_template`).
A sentence that is none of these is a statement of people: it is kept, and cannot be measured.
"""

from __future__ import annotations

from trainer.offline.grammar.calls import CallAfter, CallBefore, DoCall, NotAfter, Once, ReadAll
from trainer.offline.grammar.decision import Avoid, Refused
from trainer.offline.grammar.errors import NoRepeat, Recover, TakeFrom
from trainer.offline.grammar.lesson import Lesson
from trainer.offline.grammar.talk import Confirm, LookUp
from trainer.offline.grammar.wanted import MakeSure, SeeThrough

__all__ = [
    "FAMILIES", "ORDER", "Avoid", "CallAfter", "CallBefore", "Confirm", "DoCall", "Lesson", "LookUp",
    "MakeSure", "NoRepeat", "NotAfter", "Once", "ReadAll", "Recover", "Refused", "SeeThrough", "TakeFrom",
    "parse_lesson",
]  # fmt: skip

FAMILIES: tuple[type[Lesson], ...] = (
    LookUp, CallBefore, ReadAll, TakeFrom, MakeSure, Confirm, Recover, SeeThrough, CallAfter, DoCall, Refused,
    Avoid, NoRepeat, NotAfter, Once,
)  # fmt: skip
"""The order in which lessons stand in a section, and in which sentences are tried."""
ORDER = {family.family: position for position, family in enumerate(FAMILIES)}


def parse_lesson(sentence: str) -> Lesson | None:
    """Return the lesson that a sentence states, or None where it is outside the grammar."""
    for family in FAMILIES:
        if (lesson := family.parse(sentence)) is not None:
            return lesson
    return None

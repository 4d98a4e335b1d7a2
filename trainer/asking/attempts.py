"""Attempts at one request: how each fails, how long to wait, and when there is no use in another."""

from __future__ import annotations

import asyncio
import math
import random
from typing import TYPE_CHECKING, TypeVar

from trainer.asking.chat import ChatError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trainer.asking.question import Fault
    from trainer.asking.slots import Slot, Slots
    from xpstore.settings import LlmSettings

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 8.0
LONGEST_WAIT = 120.0
"""Seconds that an endpoint may ask to wait; where it asks for more, it is not asked again."""
QUOTA_PAUSE = 20.0
"""Seconds to wait where two requests in a row, each alone, were one too many, and nothing is said of when to
come back; twice as many after the third, then a minute: most quotas are those of a minute or less."""
QUOTA_STEPS = 3
MOST_AWAY = 16
"""Times that a request is turned away because of others before it is its own failure."""
MOST_UNHEARD = 3
"""Requests in a row, each alone under way, without an answer in time, or turned away: then the endpoint is
greeted."""
MOST_CURT = 5
"""The same where it does not say when to come back: a quota of a minute was waited for by then."""
REST = 120.0
"""Seconds for which an endpoint that has no answers is left alone; then it is greeted again."""
_FOR_ALL = frozenset({429, 503})
"""Statuses with which an endpoint says when anybody may come back, and not only this request."""
Read = TypeVar("Read")


class AttemptError(Exception):
    """One attempt has failed. It becomes a ChatError, or nothing."""

    def __init__(  # noqa: PLR0913  # the facts of one attempt
        self,
        fault: Fault,
        message: str,
        *,
        status: int = 0,
        said: str = "",
        hint: str = "",
        wait: float | None = None,
        final: bool = False,
    ) -> None:
        """`wait`: seconds that the endpoint asks to wait; `final`: another attempt would end the same."""
        super().__init__(message)
        self._fault: Fault = fault
        self._message = message
        self._status = status
        self._said = said
        self._hint = hint
        self._wait = wait
        self._final = final

    @property
    def is_denial(self) -> bool:
        """Whether the key is not one that the endpoint knows."""
        return self._status == 401

    @property
    def is_silence(self) -> bool:
        """Whether there was no answer in time."""
        return self._fault == "timeout"

    @property
    def is_turned_away(self) -> bool:
        """Whether there were too many requests."""
        return self._status == 429

    @property
    def is_curt(self) -> bool:
        """Whether there were too many requests, and nothing was said of when to come back."""
        return self.is_turned_away and self._wait is None

    @property
    def away(self) -> float:
        """Return the seconds for which the endpoint asks everybody to stay away; 0 where it does not."""
        return (self._wait or 0.0) if self._status in _FOR_ALL else 0.0

    def pause(self, attempt: int, *, alone: int = 0) -> float | None:
        """Return the seconds to wait after the attempt of this number; None where there is no use in another.

        Those that failed together do not come back together: never earlier than the endpoint asks for, and
        up to a quarter later than the first. `alone`: requests in a row that found
        no room though no other was under way, this one included.
        """
        if self._final or (self._wait is not None and self._wait > LONGEST_WAIT):
            return None
        if self.is_curt and alone > 1:
            return QUOTA_PAUSE * min(alone - 1, QUOTA_STEPS) * random.uniform(1, 1.25)  # noqa: S311
        usual = min(FIRST_PAUSE * 2.0 ** (attempt - 1), LONGEST_PAUSE) * random.uniform(0.75, 1)  # noqa: S311
        return usual if not self._wait else self._wait + usual / 4

    def error(self, attempts: int) -> ChatError:
        """Return the error for the caller."""
        message, hint = self._message, self._hint
        if self._wait is not None and self._wait > LONGEST_WAIT:
            hint = f"it asks to wait for {self._wait:.0f} s; run it again then"
        elif attempts > 1:
            message = f"{message} ({attempts} attempts)"
        return ChatError(self._fault, message, hint=hint, status=self._status, said=self._said)


class Attempts:
    """The attempts at all requests to one endpoint: what one of them meets, the others need not find out."""

    def __init__(
        self, settings: LlmSettings, slots: Slots, greet: Callable[[], Awaitable[object]] | None = None
    ) -> None:
        """`greet` attempts what any endpoint can answer at once: there are questions that it cannot."""
        self._settings = settings
        self._slots = slots
        self._greet = greet
        self._gone: AttemptError | None = None
        self._greet_at = math.inf
        self._unheard = 0
        self._has_answered = False

    async def until_answered(self, attempt: Callable[[], Awaitable[Read]]) -> tuple[Read, int]:
        """Attempt until there is an answer, or it has failed as often as it may; return the attempts too.

        What fails because others were under way is not the request's own failure, for a number of times.
        The slot is free while it waits; where the endpoint says when to come back, all wait. An endpoint that
        has refused the key is not asked again; nor, for a while, one that answers nothing, not even a
        greeting, or that asks to wait for longer than anybody would. Raises ChatError.
        """
        own = crowded = 0
        while True:
            async with self._slots.one() as slot:
                if self._gone and _now() >= self._greet_at:
                    await self._look(self._gone)
                if self._gone:
                    raise self._gone.error(own + crowded or 1)
                try:
                    answer = await attempt()
                except AttemptError as error:
                    await self._see_whether_it_is_there(error, slot)
                    is_crowded = self._is_crowded(error, slot, crowded)
                    own, crowded = own + (not is_crowded), crowded + is_crowded
                    pause = error.pause(own + crowded, alone=self._unheard if slot.is_alone else 0)
                    if pause and (error.away or (error.is_turned_away and slot.is_alone)):
                        self._slots.close(pause)
                    if pause is None or own > self._settings.retries:
                        raise error.error(own + crowded) from None
                else:
                    self._unheard, self._has_answered = 0, True
                    self._slots.answered()
                    return answer, own + crowded + 1
            await asyncio.sleep(pause)

    def _is_crowded(self, error: AttemptError, slot: Slot, before: int) -> bool:
        """Return whether an attempt failed because of others under way, and have fewer of them then.

        `before`: how often it was so.
        """
        if error.is_silence:
            return self._slots.timed_out(slot) and before < self._slots.halvings
        if not error.is_turned_away or before >= MOST_AWAY:
            return False
        was_served = self._has_answered and self._unheard == 1  # others had what there was room for
        return self._slots.turned_away(slot) or was_served

    async def _see_whether_it_is_there(self, error: AttemptError, slot: Slot) -> None:
        if error.is_denial:
            self._gone = error
        if error.away > LONGEST_WAIT:
            self._gone, self._greet_at = error, _now() + error.away
        is_unheard = error.is_silence or error.is_turned_away
        self._unheard = self._unheard + slot.is_alone if is_unheard else 0
        most = MOST_CURT if error.is_curt else MOST_UNHEARD
        if is_unheard and slot.is_alone and self._unheard % most == 0:
            await self._look(error)

    async def _look(self, error: AttemptError) -> None:
        """Greet the endpoint; where it does not answer, it is gone for a while, and this is why."""
        if self._greet is None:
            return
        self._greet_at = math.inf  # nobody else does meanwhile
        try:
            await self._greet()
        except AttemptError as none:
            if none.is_silence or none.is_turned_away:
                self._gone, self._greet_at = error, _now() + REST
                return
        except BaseException:  # cancelled: the next one greets it
            self._greet_at = _now()
            raise
        self._gone = None


def _now() -> float:
    return asyncio.get_running_loop().time()

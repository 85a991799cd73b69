"""Holds back single messages to recipients that are on a suppression list."""

import asyncio
from typing import Final

import msgspec
from msgspec import Struct, field

from postroad.model.entities import LaneKey, Message
from postroad.model.errors import BadInput, StoreError
from postroad.model.outcome import Kind, Outcome, ProviderAnswer, lacking
from postroad.model.recipients import recipient_of
from postroad.model.suppression import HOLDS_SINGLES, Reason
from postroad.observe.tasks import Tasks
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.suppressions import SuppressionLists

SUPPRESSED: Final = "suppressed"


class _Despite(Struct, frozen=True):
    despite: tuple[str, ...] = ()


DESPITE: Final = msgspec.json.Decoder(_Despite)


class _Question(Struct):
    """What the sends of one tenant ask in one turn of the loop."""

    answer: "asyncio.Future[dict[str, Reason]]"
    recipients: list[str] = field(default_factory=list)


class SuppressionGate:
    """Asks the lists just before a message is sent: what begins in one turn of the loop is one
    statement for each tenant."""

    def __init__(self, lists: SuppressionLists, clock: Clock, log: Log) -> None:
        self._lists = lists
        self._clock = clock
        self._tasks = Tasks(log)
        self._asked: dict[str, _Question] = {}

    async def holds(self, lane: LaneKey, message: Message) -> Outcome | None:
        """The outcome of a message that may not be sent; None when it may. Campaigns have asked
        before: their messages, with ids below zero, pass."""
        if message.id < 0:
            return None
        try:
            reason = await self._reason(lane.tenant, recipient_of(message))
        except BadInput:
            return None  # the channel will say what is wrong with it
        except StoreError as error:
            return lacking(f"the suppression list cannot be read: {error}")
        if reason not in HOLDS_SINGLES or reason in _despite(message.body):
            return None
        why = (
            f"the recipient is on a suppression list ({reason}): take it off and replay the "
            f'message, or send it with "despite": ["{reason}"]'
        )
        provider = ProviderAnswer(sub_type=SUPPRESSED)
        return Outcome(Kind.rejected, why, answered=False, provider=provider)

    async def _reason(self, tenant: str, recipient: str) -> Reason | None:
        question = self._asked.get(tenant)
        if question is None:
            question = _Question(asyncio.get_running_loop().create_future())
            self._asked[tenant] = question
            _ = self._tasks.start(self._ask(tenant), "suppression lists")  # kept there
        question.recipients.append(recipient)
        return (await asyncio.shield(question.answer)).get(recipient)

    async def _ask(self, tenant: str) -> None:
        await self._clock.sleep(0)  # sends that begin in this turn ask with us
        question = self._asked.pop(tenant)
        try:
            found = await self._lists.suppressed(tenant, question.recipients)
        except StoreError as error:
            question.answer.set_exception(error)
            _ = question.answer.exception()  # all who asked may have been cut
        else:
            question.answer.set_result(found)


def _despite(body: bytes) -> tuple[str, ...]:
    """The reasons that a message names as no hindrance."""
    try:
        return DESPITE.decode(body).despite
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()

"""Sending again: new messages with the bodies of finished ones."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from postroad.engine.drafting import Send
from postroad.model import batch, replay
from postroad.model.errors import BadInput, NoBody, UnknownMessage
from postroad.model.ids import to_number, to_text
from postroad.model.keyring import KeyRing
from postroad.model.listing import LAST_ID, ListFilter, ListOrder, MessagePage
from postroad.model.private_headers import opened_headers
from postroad.model.states import State
from postroad.ports.bodies import StoredBody
from postroad.ports.store import Store
from postroad.verbs.event_bodies import with_bodies
from postroad.verbs.receipts import Receipt

AGAIN_OF: Final = "postroad-again-of"
"""The header of a message that was sent again: the id of the one before."""
SLICE: Final = 100
"""Messages that one transaction sends again."""
IDS_MAX: Final = 100
"""How many messages one call may name: their bodies are in memory together, each of up to a
megabyte."""
KEY_CHARACTERS_MAX: Final = 200
SENDABLE: Final = (State.delivered, State.dead)

NOT_AGAIN: Final = (batch.HEADER, replay.HEADER)
"""What made the old message, and does not make the new one."""

SendMany = Callable[[Sequence[Send]], Awaitable[list[Receipt]]]
ListPage = Callable[[ListFilter, int, str], Awaitable[MessagePage]]


class SendOnceMore(Send, frozen=True):
    """A message that the road sends again, with headers of the first time."""


class SentAgain(Struct, frozen=True):
    """How many messages were sent again so far."""

    sent: int = 0
    repeated: int = 0
    """Sent again before, under the same key."""
    without_body: int = 0
    """How many were not sent because their bodies were not kept."""
    ids: tuple[str, ...] = ()
    """The new messages, where they were named; in the same order."""


class SendAgain:
    """Sends finished messages again."""

    def __init__(self, store: Store, ring: KeyRing, send_many: SendMany, page: ListPage) -> None:
        self._store = store
        self._ring = ring
        self._send_many = send_many
        self._page = page

    async def named(
        self, ids: Sequence[str], tenant: str | None, key: str, *, dry_run: bool
    ) -> SentAgain:
        """Send these again, all or none."""
        numbers = list(dict.fromkeys(to_number(one) for one in ids))
        if len(numbers) > IDS_MAX:
            raise BadInput(f"{len(numbers)} ids: give up to {IDS_MAX} at once, or a filter")
        bodies = await self._bodies(numbers, tenant)
        for number in numbers:
            if number not in bodies:
                await self._refuse(number, tenant)
        if dry_run:
            return SentAgain(len(numbers))
        receipts = await self._send([bodies[number] for number in numbers], key)
        repeated = sum(receipt.duplicate for receipt in receipts)
        new = tuple(receipt.id for receipt in receipts)
        return SentAgain(len(numbers) - repeated, repeated, 0, new)

    async def matching(
        self, which: ListFilter, most: int, key: str, *, dry_run: bool
    ) -> AsyncIterator[SentAgain]:
        """Send those that match again, the oldest first, slice by slice. Messages that are
        accepted after the call are left out."""
        before_ms = self._store.clock.now_ms() + 1
        until_ms = min(which.until_ms, before_ms)
        which = replace(which, order=ListOrder.oldest, until_ms=until_ms)
        said, after, first_new = SentAgain(), "", LAST_ID
        while True:
            page = await self._page(which, min(SLICE, most - said.sent - said.repeated), after)
            found = [to_number(one.id) for one in page.messages]
            # One that this call sent may have finished within its first millisecond.
            numbers = [number for number in found if number < first_new]
            bodies = await self._bodies(numbers, which.tenant)
            kept = [bodies[number] for number in numbers if number in bodies]
            receipts = [] if dry_run else await self._send(kept, key)
            new = [to_number(receipt.id) for receipt in receipts if not receipt.duplicate]
            first_new, repeated = min([first_new, *new]), len(receipts) - len(new)
            said = SentAgain(
                said.sent + len(kept) - repeated,
                said.repeated + repeated,
                said.without_body + len(numbers) - len(kept),
            )
            yield said
            after = page.after
            if not after or said.sent + said.repeated >= most:
                return

    async def _bodies(self, numbers: Sequence[int], tenant: str | None) -> dict[int, StoredBody]:
        found = await self._store.bodies(numbers) if numbers else []
        own = [body for body in found if tenant in (None, body.tenant)]
        return {body.id: body for body in await with_bodies(self._store, own)}

    async def _send(self, bodies: Sequence[StoredBody], key: str) -> list[Receipt]:
        return await self._send_many([self._again(body, key) for body in bodies]) if bodies else []

    def _again(self, stored: StoredBody, key: str) -> Send:
        to = (stored.tenant, stored.queue)
        kept = opened_headers(stored.headers, to, stored.id, self._ring) or {}
        headers = {name: value for name, value in kept.items() if name not in NOT_AGAIN}
        headers[AGAIN_OF] = to_text(stored.id)
        return SendOnceMore(
            stored.queue,
            Raw(stored.body) if stored.body else stored.body,
            key=f"again:{key}:{to_text(stored.id)}" if key else None,
            order_key=stored.order_key or None,
            priority=stored.priority,
            headers=headers,
            tenant=stored.tenant,
        )

    async def _refuse(self, number: int, tenant: str | None) -> None:
        facts = await self._store.message_facts(tenant, number)
        if facts is None:
            raise UnknownMessage(
                f"this road knows no message {to_text(number)} of tenant {tenant!r}: nothing was "
                "sent"
            )
        if facts.live is not None:
            raise BadInput(f"{to_text(number)} is not finished: nothing was sent")
        raise NoBody(
            f"the body of {to_text(number)} was not kept: nothing was sent. Set keep_bodies for "
            "its queue or its road, for messages that are delivered from then on"
        )


def check_sendable(which: ListFilter) -> ListFilter:
    """Check that a filter selects messages whose bodies can be stored."""
    if which.state is None:
        return replace(which, state=State.delivered)
    if which.state not in SENDABLE:
        raise BadInput(
            f"state={which.state}: only delivered and dead messages can be sent again; unfinished "
            "ones are sent anyway, and cancelled ones have no body"
        )
    return which


def check_key(key: str) -> None:
    """Check the idempotency key of a request to send again."""
    if len(key) > KEY_CHARACTERS_MAX:
        raise BadInput(f"key has {len(key)} characters: at most {KEY_CHARACTERS_MAX}")

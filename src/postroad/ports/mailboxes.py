"""Mailboxes in the store. Operations are decided in order, in one transaction."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from postroad.model.mailbox import Answer, Box, Looked, Op


@runtime_checkable
class Mailboxes(Protocol):
    """What a hub needs of a store. A store has one hub at a time: `hub_lead` comes first."""

    async def hub_lead(self) -> float:
        """Become the hub of this store, or stay it; returns after how many seconds to do so again.
        HubInUse says that another one is alive."""

    def hub_hear(self, call: Callable[[], None]) -> None:
        """Set what is called when the hub is to renew its lead at once, because somebody asks
        whether it is alive."""

    async def hub_unlead(self) -> None:
        """Give up the lead, so that the next hub need not wait."""

    async def box_look(self, asks: Sequence[tuple[str, bytes]]) -> Looked:
        """Check who may receive, and how much waits, in one query for all."""

    async def box_commit(self, ops: Sequence[Op]) -> list[Answer]:
        """Decide these in order and store what they change. The answers come after the commit, with
        the messages that they ask for."""

    async def box_create(self, box: Box) -> None:
        """Store a new mailbox. The hub finds it when somebody asks for it."""

    async def box_find(self, name: str) -> Box | None:
        """Read one mailbox as it is stored."""

    async def box_old(self, limit: int) -> list[tuple[str, int]]:
        """List mailboxes with messages past their time, and the last one of those."""

    async def box_page(self, tenant: str, after: str, limit: int) -> list[tuple[str, int, bool]]:
        """List mailboxes by name: how much waits, and whether one is over its quota."""

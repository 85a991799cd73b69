"""Mailboxes in the store: pieces of work in order, one transaction for all."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from postroad.model.mailbox import Answer, Box, Looked, Op


@runtime_checkable
class Mailboxes(Protocol):
    """What a store needs for a hub. One hub at a time: `hub_lead` first."""

    async def hub_lead(self) -> float:
        """Be the hub of this store, or stay it; answers after how many seconds to do so again.
        HubInUse says that another one is alive."""

    def hub_hear(self, call: Callable[[], None]) -> None:
        """Call it when the hub is to do so at once: somebody asks whether it is alive."""

    async def hub_unlead(self) -> None:
        """No more: the next one need not wait."""

    async def box_look(self, asks: Sequence[tuple[str, bytes]]) -> Looked:
        """Who may receive, and how much waits: one question for all of them."""

    async def box_commit(self, ops: Sequence[Op]) -> list[Answer]:
        """Decide these in order and store what they change; the answers come after the commit,
        with the messages that they ask for."""

    async def box_create(self, box: Box) -> None:
        """A new mailbox. Whoever the hub is finds it when somebody asks for it."""

    async def box_find(self, name: str) -> Box | None:
        """One mailbox as it is stored."""

    async def box_old(self, limit: int) -> list[tuple[str, int]]:
        """Mailboxes with messages past their time, and the last one of those."""

    async def box_page(self, tenant: str, after: str, limit: int) -> list[tuple[str, int, bool]]:
        """Mailboxes in order of name: how much waits, and whether one is over its quota."""

"""Lists of messages, by queue and by time of acceptance."""

from collections.abc import Sequence
from typing import Protocol

from postroad.model.listing import FoundRows, ListRequest, ListScope


class Listings(Protocol):
    """Finds messages wherever they are: unfinished, dead or finished."""

    async def list_scope(
        self, tenant: str | None, queue: str | None, prefix: str, most: int
    ) -> ListScope | None:
        """Return the queues of a tenant with this name, or whose names begin so, and their rungs;
        None when there are more than `most` queues."""

    async def list_names(self, queues: Sequence[int], rungs: Sequence[int]) -> ListScope:
        """Return these queues, these rungs and the queues of these."""

    async def list_messages(self, request: ListRequest) -> FoundRows:
        """Return the first messages between two ids, in order. It looks at a bounded number of
        rows, and says how far it came."""

    async def list_rows(self, ids: Sequence[int]) -> FoundRows:
        """Return those of these messages that are unfinished."""

    async def list_index(self, *, start: bool) -> int | None:
        """Bring the index of finished messages by queue forward by a slice, if it is in use or is
        to start. Returns up to which id it has come; None when that is as far as it goes."""

    async def list_indexed_ms(self) -> int:
        """Return up to which acceptance time finished messages are in the index by queue."""

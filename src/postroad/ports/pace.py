"""Pace: never faster than told. Slots are reserved in the store, and spent in a process."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from postroad.model.entities import LaneKey
from postroad.model.named_limits import NamedLimit, NewLimit
from postroad.model.pace import Ask, Limit, Reserved


class Slots(Protocol):
    """The store's part: a ledger of rate slots for each limit. A reserved slot is gone, whether it
    is used or not; none is given back."""

    async def reserve(self, asks: Sequence[Ask]) -> Reserved:
        """Reserve rate slots, for each request up to a block of them, or say when to ask again. All
        is done in one transaction, on the store's clock."""

    async def ledgers(self, key: LaneKey) -> tuple[int, ...]:
        """Return the ledgers that a start on this credential takes a rate slot of; none if it has
        no limit. The slowest comes first."""

    async def limit_queue(self, queue: int, limit: Limit | None) -> None:
        """Set a queue's own limit; None lifts it. The owners of its lanes are notified."""

    async def limit_lane(self, lane: int, limit: Limit | None) -> bool:
        """Set the limit of a lane's credential, which all lanes of the credential share; False when
        there is no such lane."""

    async def put_limit(self, new: NewLimit) -> None:
        """Set a named limit. The owners of the lanes that it is for, or was for, are notified."""

    async def drop_limit(self, tenant: str, name: str) -> bool:
        """Lift a named limit; False when there is none."""

    async def named_limits(self, tenant: str | None) -> list[NamedLimit]:
        """List the named limits of a tenant, or of all, that have not ended."""


class SlotBlock(Struct, frozen=True):
    """Slots as times of this process's steady clock; without any: when to ask again."""

    slots_s: tuple[float, ...]
    again_s: float


class SlotReserver(Protocol):
    """Reserves slots of some ledgers ahead of time, for one who makes many starts."""

    def ready(self, wanted: Callable[[], int], early_s: float = 0.0) -> bool:
        """Whether a start has its slot now (or so soon); else it is woken when to ask again.
        `wanted`: how many slots there is use for, asked when some are to be reserved."""

    def take(self) -> float:
        """The slot that was ready. It is spent, used or not."""

    def retry(self) -> None:
        """A limit may have changed: ask at once."""


class Pace(Protocol):
    """A process's part."""

    def reserver(
        self, ledgers: tuple[int, ...], name: str, wake: Callable[[], None]
    ) -> SlotReserver:
        """A reserver by name; all reservers of the same ledgers get the same share."""

    async def block(
        self, ledgers: tuple[int, ...], name: str, starts: int, cost: int = 0
    ) -> SlotBlock:
        """One block of slots, for somebody who has to write down first what it is for. BadInput
        when a start costs more than the limit was set for."""

    async def on_time(self, slot_s: float) -> bool:
        """Wait for a slot's time; False when it is too late for it, and nothing may start."""

    async def run(self) -> None:
        """Ask the store for what reservers want, for as long as the process lives."""

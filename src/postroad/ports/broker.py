"""A store whose messages lie in a broker."""

from typing import Protocol, runtime_checkable

from postroad.model.broker import BrokerFacts


@runtime_checkable
class Brokered(Protocol):
    """What can be asked of it beside what every store tells."""

    async def broker_facts(self) -> BrokerFacts:
        """How the broker stands."""

"""The port of a store whose messages are in a broker."""

from typing import Protocol, runtime_checkable

from postroad.model.broker import BrokerFacts


@runtime_checkable
class HasBroker(Protocol):
    """What such a store answers in addition to every other store."""

    async def broker_facts(self) -> BrokerFacts:
        """The state of the broker."""

"""What a road on RabbitMQ shows of its broker: for metrics, and for `postroad doctor`."""

from postroad.model.broker import BrokerFacts
from postroad.stores.rabbitmq.base import RabbitBase


class FactVerbs(RabbitBase):
    """How the broker stands."""

    async def broker_facts(self) -> BrokerFacts:
        """As this process sees it."""
        self._check_open()
        connection = self.broker.publisher.supervisor.connection
        fleet, counts = self.housekeeping.fleet, self.housekeeping.catch_all.counts
        return BrokerFacts(
            version=connection.server.version if connection is not None else "",
            blocked=self.broker.publisher.blocked,
            workers=len(fleet.workers) if fleet.settled.is_set() else 0,
            shards=len(fleet.mine),
            dead_waiting=await self.broker.ready_count(self.topology.dead),
            lost_waiting=await self.broker.ready_count(self.topology.lost),
            lost_sent_on=counts.sent_on,
            lost_buried=counts.buried,
        )

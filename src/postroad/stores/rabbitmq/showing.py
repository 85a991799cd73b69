"""What a road on RabbitMQ shows of its broker: for metrics, and for `postroad doctor`."""

from postroad.model.broker import BrokerFacts
from postroad.stores.rabbitmq.base import Base


class FactVerbs(Base):
    """How the broker stands."""

    async def broker_facts(self) -> BrokerFacts:
        """As this process sees it."""
        self._check_open()
        link = self.broker.publisher.supervisor.link
        fleet, caught = self.crew.fleet, self.crew.catch_all.caught
        return BrokerFacts(
            version=link.server.version if link is not None else "",
            blocked=self.broker.publisher.blocked,
            workers=len(fleet.workers) if fleet.settled.is_set() else 0,
            shards=len(fleet.mine),
            dead_waiting=await self.broker.ready(self.topology.dead),
            lost_waiting=await self.broker.ready(self.topology.lost),
            lost_sent_on=caught.sent_on,
            lost_buried=caught.buried,
        )

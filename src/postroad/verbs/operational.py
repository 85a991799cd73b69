"""Operational events: what the road tells its operator, through the same engine."""

from msgspec.structs import replace

from postroad.model.endpoint import OPERATOR
from postroad.model.entities import DEFAULT_TENANT, order_group_of
from postroad.model.event import EventTarget, Publish
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.verbs.events import EventVerbs
from postroad.verbs.sending import Sending


class OperationalEvents(EventVerbs):
    """Events for the endpoints of the tenant `postroad.operator`, and for the handler of that name
    where there is one. Nothing is told about the operator's own endpoints."""

    def __init__(self, store: Store, sending: Sending, log: Log) -> None:
        super().__init__(store, sending, sending.allowance, log)

    async def matched(self, name: str, body: object) -> Publish:
        """Match an event, for a commit that also makes the change that it tells."""
        asked = self._asked(name, body, OPERATOR, None, ())
        matcher, catalogue = await self._matcher(OPERATOR), await self._types()
        now_ms = self._store.clock.now_ms()
        targets = matcher.match(name, frozenset(), asked.parsed, now_ms)
        handlers = await self._handlers()
        versions = (matcher.version, catalogue.version)
        made = self._made(asked, targets + handlers, {}, versions)
        return replace(made, own=len(handlers))

    def forget(self) -> None:
        """Read the operator's endpoints again: they have changed."""
        self._forget(OPERATOR)

    async def _handlers(self) -> tuple[EventTarget, ...]:
        queue = await self._store.find_queue(DEFAULT_TENANT, OPERATOR)
        if queue is None:
            return ()
        return (EventTarget(queue.id, queue.lanes[0], order_group_of(queue.policy, "")),)

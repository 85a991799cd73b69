"""Changes of an endpoint's life, each stored with the operational event that tells it."""

from typing import Final

from postroad.model.endpoint import OPERATOR, EndpointEntry, EndpointLife, endpoint_id, queue_name
from postroad.model.endpoint_life import LifeEvent, Turn, Turned
from postroad.model.errors import Overloaded
from postroad.model.event import Publish
from postroad.model.pace import Limit
from postroad.model.wording import public_name
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.verbs.event_stores import event_store
from postroad.verbs.operational import OperationalEvents

AGAIN_MAX: Final = 20
"""How often an event is matched again because the operator's endpoints change meanwhile."""


class EndpointTurns:
    """Changes an endpoint's state and stores the event about it in one commit. Changes of the
    operator's own endpoints publish none."""

    def __init__(self, store: Store, events: OperationalEvents, log: Log) -> None:
        self._store = store
        self._events = events
        self._log = log

    async def turn(
        self,
        entry: EndpointEntry,
        life: EndpointLife,
        event: LifeEvent | None = None,
        *,
        paused: bool | None = None,
        failing_since_ms: int | None = None,
        dead: int = 0,
        drain: Limit | None = None,
    ) -> bool:
        """Change an endpoint's life; False if somebody else has changed it meanwhile. `dead`: how
        many messages the event tells of."""
        row = entry.row
        change = (row.id, row.version, row.queue, life, paused, failing_since_ms)
        for _ in range(AGAIN_MAX):
            told = await self._told(entry, life, event, dead)
            said = await event_store(self._store).endpoint_turn(Turn(*change, told, drain))
            if said is not Turned.moved:
                if said is Turned.done and event:
                    self._tell(entry, life, event, dead)
                return said is Turned.done
            self._events.forget()
        raise Overloaded("the operator's endpoints change all the time: nothing was stored")

    async def _told(
        self, entry: EndpointEntry, life: EndpointLife, event: LifeEvent | None, dead: int
    ) -> Publish | None:
        if event is None or entry.row.tenant == OPERATOR:
            return None
        facts = _facts(entry, life, event, dead)
        body = {"type": event, "at_ms": self._store.clock.now_ms(), **facts}
        return await self._events.matched(event, body)

    def _tell(self, entry: EndpointEntry, life: EndpointLife, event: LifeEvent, dead: int) -> None:
        grave = event in (LifeEvent.failing, LifeEvent.disabled, LifeEvent.dead)
        tell = self._log.warning if grave else self._log.info
        tell(event, **_facts(entry, life, event, dead))


def _facts(
    entry: EndpointEntry, life: EndpointLife, event: LifeEvent, dead: int
) -> dict[str, object]:
    row = entry.row
    facts: dict[str, object] = {
        "endpoint": endpoint_id(row.id),
        "tenant": row.tenant,
        "url": public_name(row.url),
    }
    if event is LifeEvent.secret_expiring:
        return facts
    if event is LifeEvent.dead:
        return facts | {"queue": queue_name(row.id), "count": dead}
    if event is LifeEvent.recovered:
        return facts | {"noticed_at_ms": row.life.noticed_at_ms}
    facts |= {"failing_since_ms": life.failing_since_ms, "error": life.error}
    if event is LifeEvent.disabled:
        facts |= {"disabled_by": life.disabled_by, "reason": life.reason}
    return facts

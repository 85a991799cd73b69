"""The life of endpoints."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from postroad.model.endpoint import EndpointEntry
from postroad.model.endpoint_life import COUNTS, EndpointHour, Turn, Turned
from postroad.model.event import Publish
from postroad.stores.endpoint_life import LABEL, EndpointLifeTables, turn_values
from postroad.stores.postgres.base import PostgresBase, StoreAnswer, decoder, literal
from postroad.stores.postgres.pacing import packed
from postroad.stores.postgres.upkeep import SWEPT


class TurnAnswer(StoreAnswer, frozen=True):
    """What became of a turn."""

    turned: Turned = Turned.done


ANSWER: Final = decoder(TurnAnswer)


class PostgresEndpointLife(EndpointLifeTables, PostgresBase):
    """Stores the life of endpoints."""

    async def endpoint_turn(self, turn: Turn) -> Turned:
        """Change an endpoint's life and its queue, and store the event that tells it."""
        told = turn.publish and msgspec.json.encode(_event(turn.publish)).decode()
        about = (turn.number, turn.version, turn.queue, *turn_values(turn))
        drain = packed(turn.drain) if turn.drain else None
        values = (*about, turn.paused, told, drain)
        text = await self._one(self._side, LABEL, "endpoint_turn", *values)
        return self._read_answer(text, ANSWER).turned

    async def endpoint_count(self, hours: Sequence[EndpointHour]) -> None:
        """Add counts to hours, and write where a spell of failures began or ended."""
        text = msgspec.json.encode([_hour(one) for one in hours]).decode()
        _ = await self._one(self._side, LABEL, "endpoint_count", text)  # it says nothing

    async def endpoints_of(self, queues: Sequence[int]) -> list[EndpointEntry]:
        """Endpoints by their queues."""
        return await self._entries(literal(queues))

    async def endpoint_bury(self, number: int, messages: Sequence[int], reason: str) -> int:
        """Move messages that are held to the dead set."""
        values = (number, list(messages), reason)
        text = await self._one(self._side, LABEL, "endpoint_bury", *values)
        return self._read_answer(text, SWEPT).expired


def _event(publish: Publish) -> dict[str, Any]:
    event, to = publish.event, publish.targets
    return {
        "id": event.id,
        "tenant": event.tenant,
        "type": event.type,
        "body": event.body.decode(),
        "channels": event.channels.decode(),
        "made": event.made_at_ms,
        "first": event.first,
        "last": event.last,
        "matched": event.matched,
        "endpoints": publish.endpoints_version,
        "types": publish.types_version,
        "lanes": [each.lane for each in to],
        "queues": [each.queue for each in to],
        "groups": [each.order_group for each in to],
        "headers": publish.headers.decode(),
        "own": publish.own,
    }


def _hour(one: EndpointHour) -> dict[str, Any]:
    spell = (one.succeeded, one.failing_since_ms, one.failed_at_ms, one.error)
    return {
        "endpoint_id": one.queue,
        "at": one.at_ms,
        **dict(zip(COUNTS, one.counts, strict=True)),
        **dict(zip(("succeeded", "failing", "failed_at", "error"), spell, strict=True)),
    }

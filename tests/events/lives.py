"""A simulated road whose endpoints answer as told."""

from typing import Any

from postroad import Postroad
from postroad.model.endpoint import OPERATOR
from postroad.model.entities import LaneKey
from postroad.model.ids import to_text
from postroad.verbs.endpoint_facts import NewEndpoint
from tests.rig.receivers import Behaviour, ReceivedTry, Receivers, ReceiverSession
from tests.rig.world import World

HOUR_S, DAY_S, DAY_MS = 3_600.0, 86_400.0, 86_400_000


class Lives:
    """Endpoints by name, how each answers, what each was sent, and what the operator was told."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.road: Postroad = world.client
        self.made: dict[str, NewEndpoint] = {}
        self.book: list[ReceivedTry] = []
        self.told: list[dict[str, Any]] = []
        self._behaviours: dict[str, Behaviour] = {}
        world.equip = self._equip

    def _equip(self, _name: str, road: Postroad) -> None:
        """Sessions of webhooks are scripted; all else of them is real."""
        clock, rng = self.world.clock, self.world.loop.rng
        receivers = Receivers(clock.now_ms, rng.random, self._behaviours)
        receivers.on_receipt = self.book.append

        async def opened(lane: LaneKey) -> ReceiverSession:
            return await receivers.open(lane)

        setattr(road._transports["webhook"], "open", opened)  # noqa: B010 - for this test

        @road.handler(OPERATOR)
        async def hear(message: Any) -> None:
            self.told.append(message.body)

    async def make(self, name: str, behaviour: Behaviour | None = None, **options: Any) -> None:
        """Make an endpoint, on a server of its own, that answers so."""
        url = f"https://1.1.1.{len(self.made) + 1}/{name}"
        made = self.made[name] = await self.road.endpoints.create(url, **options)
        if behaviour is not None:
            self._behaviours[made.queue] = behaviour

    def answers(self, name: str, behaviour: Behaviour) -> None:
        """Let an endpoint answer so from now on."""
        self._behaviours[self.made[name].queue] = behaviour

    def taken(self, name: str) -> list[str]:
        """The messages that an endpoint took, in order."""
        queue = self.made[name].queue
        return [to_text(one.message) for one in self.book if one.queue == queue and one.handled]

    def events(self, name: str = "") -> list[str]:
        """What the operator's handler was told, of one endpoint or of all."""
        number = self.made[name].id if name else ""
        told = [one for one in self.told if one["type"] != "message.dead"]
        return [one["type"] for one in told if number in ("", one["endpoint"])]

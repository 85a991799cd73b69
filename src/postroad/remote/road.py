"""A road that another process serves: a server at an address, or the owner of a SQLite file."""

from collections.abc import Callable, Sequence
from typing import Self, TypeVar, Unpack

import apsw

from postroad.app import Parts, Postroad
from postroad.config import Settings, checked, named_dsn
from postroad.engine.drafting import Send
from postroad.model.errors import BadInput, NotOnRemoteRoad, PostroadError
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock, system_chance
from postroad.ports.transport import Transport
from postroad.remote import tables
from postroad.remote.addresses import check_token, read_address
from postroad.remote.calls import remote_group
from postroad.remote.client import RemoteClient
from postroad.remote.groups import GROUPS
from postroad.remote.sending import RemoteSending
from postroad.transports.failure_log import FailureLog
from postroad.transports.handler import HandlerTransport
from postroad.verbs.control import Controls
from postroad.verbs.explaining import Explainer
from postroad.verbs.grouping import VerbGroup
from postroad.verbs.handler_calls import Registering
from postroad.verbs.handler_options import HandlerOptions
from postroad.verbs.receipts import Receipt
from postroad.verbs.registering import G, Registry
from postroad.verbs.sending import SendOptions

F = TypeVar("F", bound=Callable[..., object])
WORKER = "in the process that owns the road, as Postroad('sqlite:///…') or on PostgreSQL"


class RemoteRoad(Postroad):
    """The verbs of a road as requests. It sends and looks; it registers and delivers nothing."""

    def __init__(
        self,
        dsn: str | None = None,
        *,
        token: str = "",
        settings: Settings | None = None,
        transports: Sequence[Transport] = (),
        parts: Parts | None = None,
    ) -> None:
        parts = parts or Parts()
        if transports:
            raise _not_here("transports=", f"give them {WORKER}")
        self.settings = checked(self.defaults if settings is None else settings)
        self.dsn = named_dsn(dsn, self.settings)
        token = check_token(token, self.dsn)
        clock = parts.clock or SystemClock()
        chance = parts.chance or system_chance()
        client = self._client = RemoteClient(
            read_address(self.dsn), token, clock, chance, parts.patience_s
        )
        self._remote = RemoteSending(client, clock)
        self.registry = Registry(HandlerTransport(FailureLog(make_log(), clock)), self, clock)
        self._controls = remote_group(Controls, tables.CONTROLS, client)
        self._explainer = remote_group(Explainer, tables.EXPLAINER, client)
        for name, group in vars(Postroad).items():
            if isinstance(group, VerbGroup):
                setattr(self, name, remote_group(group.kind, GROUPS.get(name, {}), client))
        self._remote.jobs = self.jobs
        self.batch, self.chain = self.batches.batch, self.batches.chain
        self.publish, self.publish_in = self.events.publish, self.events.publish_in
        self.around = self.registry.around
        self.provide = self.registry.providers.add  # it is made where the road is delivered

    async def __aenter__(self) -> Self:
        if self._client.is_open:
            raise BadInput("this road is open already: open it once, all tasks may use it")
        await self._client.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._client.close()

    async def send(
        self, queue: str, body: object, *, confirm: bool = True, **options: Unpack[SendOptions]
    ) -> Receipt:
        """Have the server store one message, and return its receipt. The options are those of
        `Postroad.send`; a send whose answer was lost is repeated, and stored once."""
        del confirm  # its server always waits for the store
        return await self._remote.send(Send(queue, body, **options))

    async def send_many(self, sends: Sequence[Send | tuple[str, object]]) -> list[Receipt]:
        """Have the server store many messages of one tenant in one transaction."""
        return await self._remote.send_many(sends)

    async def send_each(
        self, sends: Sequence[Send | tuple[str, object]]
    ) -> list[Receipt | PostroadError]:
        """Have the server store many messages, each on its own."""
        return await self._remote.send_each(sends)

    def handler(self, name: str, **options: Unpack[HandlerOptions]) -> Registering:
        """Name a handler, so that `await function.send(body)` sends to it. It is called where the
        road is delivered: so a program and its worker may share a module."""
        return self.registry.handler(name, options)

    # What only the process can do that has the store open

    def transform(self, name: str) -> Callable[[F], F]:
        """Raise NotOnRemoteRoad: bodies are transformed where the road is delivered."""
        del name
        raise _not_here("transform", f"register transformations {WORKER}")

    def every(
        self,
        cron: str,
        *,
        tz: str = "UTC",
        missed: str = "latest",
        name: str = "",
        **options: Unpack[HandlerOptions],
    ) -> Callable[[G], G]:
        """Raise NotOnRemoteRoad: timetables are registered where the road is delivered."""
        del cron, tz, missed, name, options
        raise _not_here("every", f"register timetables {WORKER}")

    async def send_in(
        self, connection: object, queue: str, body: object, **options: Unpack[SendOptions]
    ) -> Receipt:
        """Raise NotOnRemoteRoad: a server has no part in your transaction."""
        del connection, queue, body, options
        raise _not_here("send_in", f"send after your commit, with a key; or send_in {WORKER}")

    def connection(self) -> apsw.Connection:
        """Raise NotOnRemoteRoad: the file belongs to another process."""
        raise _not_here("connection", f"open one {WORKER}")

    async def run(self, *, until_idle: bool = False) -> None:
        """Raise NotOnRemoteRoad: the process that has the road open delivers."""
        del until_idle
        raise _not_here("run", f"deliver {WORKER}; `postroad worker` is such a process")


def _not_here(what: str, instead: str) -> NotOnRemoteRoad:
    return NotOnRemoteRoad(f"{what}: another process serves this road; {instead}")

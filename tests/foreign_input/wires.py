"""What comes over long-lived connections: the hub's frames and requests, requests to the API."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import msgspec
from multidict import CIMultiDict
from uvicorn import Config
from uvicorn.server import ServerState

from postroad.api import window
from postroad.api.hosts import Hosts
from postroad.api.listening import StrictProtocol
from postroad.hub.access import HubTokens
from postroad.hub.frames import JSON, MSGPACK, Codec
from postroad.hub.http import HttpProtocol
from postroad.hub.server import HubServer
from postroad.hub.server import UndecidedConnection as HubDoor
from postroad.model.errors import BadSetting, NotPostroad
from postroad.model.hubs import known_hub
from postroad.model.mailbox import HubLimits
from postroad.model.networks import Proxies, network
from postroad.remote.addresses import HEAD_BYTES_MAX
from postroad.remote.calls import lines_of
from postroad.remote.http import ApiConnection, HttpReply
from postroad.stores.window_socket import Peer
from tests.foreign_input.answers import DEEP
from tests.foreign_input.shape import BARE, Door, in_pieces

LOOP = asyncio.new_event_loop()
FEW = ("blanks", "brackets", "colons", "digits", "letters", "nuls")
GET = b"GET /x HTTP/1.1\r\nhost: x\r\n"
POST = b"POST /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"


def in_loop(act: Callable[[], object]) -> None:
    async def inside() -> None:
        act()

    LOOP.run_until_complete(inside())


def asked_at_a_window(data: bytes) -> None:
    async def inside() -> None:
        reader = asyncio.StreamReader(limit=window.HEAD_BYTES_MAX)
        reading = asyncio.ensure_future(reader.readuntil(window.HEAD_END))
        for at in range(0, len(data), 512):
            reader.feed_data(data[at : at + 512])
            await asyncio.sleep(0)
        reader.feed_eof()
        with suppress(asyncio.IncompleteReadError, window.BadWindowRequest):
            head = window.RequestHead(await reading)
            _ = window.WindowExchange(head, reader, SimpleNamespace()).scope(Peer(1, 1))  # type: ignore[arg-type]

    LOOP.run_until_complete(inside())


def answered_a_remote_road(data: bytes) -> None:
    """As a program reads whatever listens at the address that it was given."""

    async def inside() -> None:
        reader = asyncio.StreamReader(limit=HEAD_BYTES_MAX)
        reply = HttpReply(ApiConnection(reader, SimpleNamespace()), 30.0)  # type: ignore[arg-type]
        for at in range(0, len(data), 512):
            reader.feed_data(data[at : at + 512])
        reader.feed_eof()
        with suppress(asyncio.IncompleteReadError, NotPostroad, ConnectionError):
            await reply.begin()
            _ = [line async for line in lines_of(reply.pieces())]

    LOOP.run_until_complete(inside())


class Line:
    """A transport that takes everything."""

    def get_extra_info(self, _name: str) -> None:
        return None

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        pass

    resume_reading = write_eof = pause_reading

    def can_write_eof(self) -> bool:
        return True

    def write(self, _data: bytes) -> None:
        pass

    def close(self) -> None:
        pass

    abort = close

    def set_protocol(self, _protocol: object) -> None:
        pass

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def is_closing(self) -> bool:
        return False


def hub(address_max: int = 1_000) -> Any:
    limits = msgspec.structs.replace(HubLimits(), address_connections_max=address_max)
    return SimpleNamespace(limits=limits, wake=lambda: None, core=None, clock=None, log=None)


class Patient:
    """A server that waits for everybody."""

    def __init__(self) -> None:
        self.hub = hub()
        self.commands = None
        self.addresses: Counter[str] = Counter()

    def set_deadline(self, _protocol: object, _seconds: float | None) -> None:
        pass


def at_the_hubs_door(data: bytes) -> None:
    door = HubDoor(Patient())  # type: ignore[arg-type]
    door._transport = Line()  # type: ignore[assignment]
    in_pieces(lambda: door.data_received, data)


def asked_of_the_hub(data: bytes, size: int = 0) -> None:
    http = HttpProtocol(hub(), None, Patient(), None)  # type: ignore[arg-type]
    http.begin(Line())  # type: ignore[arg-type]
    in_loop(lambda: in_pieces(lambda: http.data_received, data, size or len(data)))


def hosted(data: bytes) -> None:
    text = data.decode("latin-1")
    Hosts((), "127.0.0.1").allows(text)
    Hosts((), text)
    Proxies(("10.0.0.0/8",)).has(text)


def hubs(data: bytes) -> None:
    known = known_hub(data.decode("latin-1"))
    assert known.place


def asked_of_the_api(data: bytes, size: int = 0) -> None:
    def act() -> None:
        limits = SimpleNamespace(head_s=10.0, body_s=10.0, idle_s=10.0)
        house: Any = SimpleNamespace(
            limits=limits,
            admit=lambda _one: True,
            forget=lambda _one: None,
            is_busy=lambda _one: None,
            is_idle=lambda _one: None,
        )
        wire = StrictProtocol(house, config=API, server_state=ServerState(), app_state={})
        wire.connection_made(Line())  # type: ignore[arg-type]
        in_pieces(lambda: wire.data_received, data, size or len(data))
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    in_loop(act)


async def nothing(_scope: object, _receive: object, _send: object) -> None:
    """An application that answers nobody."""


API = Config(nothing, lifespan="off", log_config=None, access_log=False, ws="none")


def upgraded(data: bytes) -> None:
    text = data.decode("latin-1")
    headers = CIMultiDict({"Sec-WebSocket-Protocol": text, "X-Forwarded-For": text})
    request = SimpleNamespace(headers=headers)
    proxies = Proxies(("10.0.0.0/8",))
    door = SimpleNamespace(wrong=None, belongs_to=lambda given: proxies.client(text, given) == "")
    in_loop(lambda: HubServer(hub(), HubTokens()).upgrade(door, request))  # type: ignore[arg-type]


def commanded(data: bytes) -> None:
    for codec in (Codec(JSON), Codec(MSGPACK)):
        codec.command(data)
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            codec.event(data)


DOORS = (
    Door(
        "a hub's first bytes, one by one",
        at_the_hubs_door,
        ("hub/server.py:UPGRADE",),
        size=15_000,
        frames=((GET + b"a: ", b""), (b"", b"")),
        fills=FEW,
    ),
    Door(
        "a hub's upgrade",
        upgraded,
        ("hub/server.py:HubServer",),
    ),
    Door(
        "an HTTP request to the hub",
        asked_of_the_hub,
        ("hub/http.py:HttpProtocol", "hub/http.py:HEAD_END"),
        size=15_000,
        frames=(
            BARE,
            (GET + b"a: ", b"\r\n\r\n"),
            (b"GET /", b" HTTP/1.1\r\nhost: x\r\n\r\n"),
            (GET + b"authorization: bearer ", b"\r\n\r\n"),
            (GET + b"a:", b"\0\r\n\r\n"),
        ),
        shapes={
            "blanks, a word, blanks": lambda n: (
                GET + b"a:" + (b" " * 100 + b"x") * (n // 101) + b"\0\r\n\r\n"
            ),
            "many headers": lambda n: GET + b"a: b\r\n" * (n // 6) + b"\r\n",
            "small chunks": lambda n: POST + b"1\r\nx\r\n" * (n // 6) + b"0\r\n\r\n",
            "many requests": lambda n: (GET + b"\r\n") * (n // len(GET)),
        },
    ),
    Door(
        "an HTTP request to the hub, byte by byte",
        lambda data: asked_of_the_hub(data, 1),
        (),
        size=4_096,
        frames=((GET + b"a: ", b"\r\n\r\n"),),
        fills=("blanks", "letters"),
        shapes={"small chunks": lambda n: POST + b"1\r\nx\r\n" * (n // 6) + b"0\r\n\r\n"},
    ),
    Door(
        "where a client comes from",
        lambda data: network(data.decode("latin-1")),
        ("model/networks.py:network", "model/networks.py:Proxies", "model/networks.py:_parsed"),
        frames=(BARE, (b"::", b""), (b"::1%", b"")),
    ),
    Door(
        "a request's host, and its proxy",
        hosted,
        tuple(f"api/hosts.py:{name}" for name in ("_is_address", "_is_loopback")),
        frames=(BARE, (b"[::", b"]:1"), (b"1.2.3.", b":80")),
    ),
    Door(
        "hubs in the settings",
        hubs,
        (
            *(f"model/hubs.py:{name}" for name in ("HOST", "KnownHub", "is_number", "known_hub")),
            "config.py:_hubs",
            "config.py:_check_network",
            "transports/named_hubs.py:NamedHub",
            "transports/webhook/guard.py:Guard",
        ),
        size=16_384,
        frames=(BARE, (b"wss://:t@", b""), (b"wss://:t@h", b".x:1"), (b"wss://:t@h:1?allow=", b"")),
        raises=(BadSetting,),
    ),
    Door(
        "a request to the API",
        asked_of_the_api,
        ("api/listening.py:StrictProtocol",),
        size=15_000,
        frames=(
            BARE,
            (GET + b"a: ", b"\r\n\r\n"),
            (GET + b"a:", b"\0\r\n\r\n"),
            (b"GET /", b" HTTP/1.1\r\nhost: x\r\n\r\n"),
        ),
        shapes={"many headers": lambda n: GET + b"a: b\r\n" * (n // 6) + b"\r\n"},
    ),
    Door(
        "a request at a window",
        asked_at_a_window,
        (
            "api/window.py:RequestHead",
            "api/window.py:WindowExchange",
            "api/window.py:WindowHttp",
        ),
        size=15_000,
        frames=(
            BARE,
            (GET + b"a: ", b"\r\n\r\n"),
            (b"GET /", b" HTTP/1.1\r\nhost: x\r\n\r\n"),
            (b"GET /%", b" HTTP/1.1\r\n\r\n"),
        ),
        shapes={"many headers": lambda n: GET + b"a: b\r\n" * (n // 6) + b"\r\n"},
    ),
    Door(
        "an answer to a remote road",
        answered_a_remote_road,
        ("remote/http.py:HttpReply", "remote/calls.py:lines_of"),
        size=15_000,
        frames=(
            BARE,
            (b"HTTP/1.1 200 OK\r\na: ", b"\r\n\r\n"),
            (b"HTTP/1.1 200 OK\r\n\r\n", b""),
            (b"HTTP/1.1 ", b"\r\n\r\n"),
        ),
        shapes={
            "many headers": lambda n: b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * (n // 6) + b"\r\n",
            "chunks of one byte": lambda n: (
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * (n // 6)
            ),
            "empty lines": lambda n: b"HTTP/1.1 200 OK\r\n\r\n" + b"\n" * n,
        },
    ),
    Door(
        "a request to the API, byte by byte",
        lambda data: asked_of_the_api(data, 1),
        (),
        size=15_000,
        frames=((GET + b"a: ", b""),),
        fills=("blanks", "letters"),
    ),
    Door(
        "a frame of the hub",
        commanded,
        ("hub/frames.py:Codec",),
        frames=(BARE, (b'{"do":"', b'"}'), (b'{"do":"send","box":"', b'"}')),
        shapes={
            **DEEP,
            "many mailboxes": lambda n: (
                b'{"do":"sub","boxes":[%s]}' % b",".join([b'["a","b"]'] * (n // 10))
            ),
            "deep MessagePack": lambda n: b"\x91" * n,
        },
    ),
)

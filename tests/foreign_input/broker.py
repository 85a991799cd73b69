"""What a broker sends, and addresses of stores."""

import struct
from contextlib import suppress

from pamqp.exceptions import PAMQPException as AMQPError

from postroad.model.errors import BadDsn, BadInput
from postroad.stores.naming import shown
from postroad.stores.postgres.connections import read_address as read_postgres
from postroad.stores.rabbitmq.envelope import BadEnvelope
from postroad.stores.rabbitmq.envelope import unpack as unpack_envelope
from postroad.stores.rabbitmq.fleet.presence import read as read_sign
from postroad.stores.rabbitmq.options import read_options
from postroad.stores.rabbitmq.topology.topology import PLAIN_WORD, handler_target
from postroad.stores.rabbitmq.wire.confirms import Confirms
from postroad.stores.rabbitmq.wire.connection import ServerFacts
from postroad.stores.rabbitmq.wire.field_table import read_table
from postroad.stores.rabbitmq.wire.frame_protocol import FrameProtocol
from postroad.stores.rabbitmq.wire.frames import BODY, FRAME, HEADER, METHOD, cold
from postroad.stores.rabbitmq.wire.incoming import IncomingMessage, read_deliver
from postroad.stores.rabbitmq.wire.properties import Delivery
from postroad.transports.hub import HubTransport
from tests.foreign_input.answers import DEEP
from tests.foreign_input.shape import BARE, Door, in_pieces
from tests.foreign_input.wires import Line, in_loop

WIRE = "stores/rabbitmq/wire"
HEADERS = 0x2000


class Taker:
    """A channel's reader, as the broker's frames see it."""

    def __init__(self) -> None:
        self._arriving = IncomingMessage()

    def on_method(self, data: bytes, at: int, stop: int) -> None:
        self._arriving.expect(Delivery(1, False, "", "", b"", data[at:stop]), lambda _message: None)

    def on_header(self, data: bytes, at: int, stop: int) -> None:
        self._arriving.on_header(data, at, stop)

    def on_body(self, data: bytes, at: int, stop: int) -> None:
        self._arriving.on_body(data, at, stop)


def from_the_broker(data: bytes, size: int = 0) -> None:
    def act() -> None:
        wire = FrameProtocol("here", lambda _error: None)
        wire.connection_made(Line())  # type: ignore[arg-type]
        wire.readers[1] = Taker()  # type: ignore[assignment]
        in_pieces(lambda: wire.data_received, data, size or len(data))

    in_loop(act)


def frame(kind: int, payload: bytes) -> bytes:
    return FRAME.pack(kind, 1, len(payload)) + payload + b"\xce"


def message(size: int, pieces: int) -> bytes:
    head = struct.pack(">HHQH", 60, 0, size, 0)
    each = size // pieces
    body = b"".join(frame(BODY, b"x" * each) for _ in range(pieces))
    return frame(METHOD, b"\0" * 4) + frame(HEADER, head) + body


def properties(data: bytes) -> None:
    packed = struct.pack(">HI", HEADERS, len(data)) + data
    delivery = Delivery(1, False, "", "", packed, b"")
    with suppress(BadEnvelope):
        unpack_envelope(delivery.properties.headers, b"{}")
    with suppress(ValueError, IndexError, struct.error, RecursionError, ArithmeticError):
        read_table(struct.pack(">I", len(data)) + data, 0)


def overrun(size: int) -> bytes:
    """Tables of eight bytes whose only text claims all that follows: read twice, and twice again."""
    one = b"\x01aF" + struct.pack(">I", 7) + b"\x01bS" + struct.pack(">I", size)
    return one * (size // len(one))


def overrun_tables(size: int) -> bytes:
    one = b"\x01aF" + struct.pack(">I", 7) + b"\x01bF" + struct.pack(">I", size)
    return one * (size // len(one))


def deep_tables(size: int) -> bytes:
    data = b""
    for _ in range(min(size // 8, 4_000)):
        data = b"\x01aF" + struct.pack(">I", len(data)) + data
    return data


def confirmed(data: bytes) -> None:
    def act() -> None:
        confirms = Confirms()
        for _ in range(10):
            _ = confirms.add(b"")
        for tag in data[:1_000]:
            confirms.answer(tag << 55, None, multiple=True)

    in_loop(act)


def cold_method(data: bytes) -> None:
    """The broker's first word, with what it says of itself."""
    start = struct.pack(">HHBBI", 10, 10, 0, 9, len(data)) + data + b"\0\0\0\0" * 2
    whole = frame(METHOD, start)
    with suppress(ValueError, AMQPError, IndexError, struct.error, RecursionError):
        cold(whole, 7, len(whole) - 1)


def dsn(data: bytes) -> None:
    text = data.decode("latin-1")
    for scheme in ("amqp://", "postgresql://", "amqp://h?shards=", "amqp://h?"):
        shown(scheme + text)
        for read in (read_options, read_postgres):
            with suppress(BadDsn):
                read(scheme + text)
    PLAIN_WORD.fullmatch(text)
    handler_target(text)


DOORS = (
    Door(
        "frames of the broker",
        from_the_broker,
        tuple(
            f"{WIRE}/{name}"
            for name in ("frame_protocol.py:FrameProtocol", "incoming.py:IncomingMessage")
        ),
        shapes={
            "small frames": lambda n: frame(8, b"") * (n // 8),
            "a body in many frames": lambda n: message(n // 9, n // 9),
        },
    ),
    Door(
        "a frame of the broker, byte by byte",
        lambda data: from_the_broker(data, 1),
        (),
        fills=(),
        shapes={"one frame": lambda n: message(n, 1), "many": lambda n: frame(8, b"") * (n // 8)},
    ),
    Door(
        "the broker's deliver",
        lambda data: read_deliver(data, 0),
        (f"{WIRE}/incoming.py:read_deliver",),
        raises=(IndexError, struct.error, UnicodeDecodeError),
    ),
    Door(
        "the headers of a message from the broker",
        properties,
        (
            f"{WIRE}/field_table.py:read_table",
            f"{WIRE}/field_table.py:read_value",
            f"{WIRE}/properties.py:unpack",
        ),
        size=32_768,
        frames=(BARE, (b"\x01a", b""), (b"\x01aA\0\0\xff\xff", b"")),
        shapes={
            "texts that overrun": overrun,
            "tables that overrun": overrun_tables,
            "deep tables": deep_tables,
            "many": lambda n: b"\x01aV" * (n // 3),
            "a list of many": lambda n: b"\x01aA" + struct.pack(">I", n) + b"V" * n,
        },
    ),
    Door(
        "a cold method of the broker",
        cold_method,
        (f"{WIRE}/frames.py:cold",),
        size=4_000,
        frames=(BARE, (b"\x01aS\0\0\0\x10", b"")),
        shapes={
            "deep tables": deep_tables,
            "tables that overrun": overrun_tables,
            "many": lambda n: b"\x01aV" * (n // 3),
        },
    ),
    Door(
        "a mailbox's address",
        lambda data: HubTransport().address(data.decode("latin-1"), "t"),
        ("transports/hub.py:HubTransport",),
        frames=(BARE, (b"hub://", b"/a"), (b"hub://h:", b"/a"), (b"hub://h:1/", b"")),
        raises=(BadInput,),
    ),
    Door("confirms beyond all tags", confirmed, (f"{WIRE}/channel.py:AmqpChannel",), size=1_000),
    Door(
        "a worker's sign",
        read_sign,
        ("stores/rabbitmq/fleet/presence.py:_DECODER",),
        frames=(BARE, (b'{"worker":"', b'"}')),
        shapes=DEEP,
    ),
    Door(
        "a broker's version",
        lambda data: ServerFacts("", data.decode("latin-1"), frozenset()).number,
        (f"{WIRE}/connection.py:ServerFacts",),
        frames=(BARE, (b"1.", b"-x")),
    ),
    Door(
        "a DSN",
        dsn,
        (
            "stores/naming.py:shown",
            "stores/rabbitmq/options.py:read_options",
            f"{WIRE}/address.py:read_address",
            "stores/postgres/connections.py:DatabaseAddress",
            "stores/postgres/connections.py:read_address",
            "stores/rabbitmq/topology/topology.py:PLAIN_WORD",
            "stores/rabbitmq/topology/topology.py:handler_target",
        ),
        size=16_384,
    ),
)

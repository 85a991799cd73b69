"""The hub's clients in a process of their own: `python -m bench.hub_clients WHAT PORT …`."""

import asyncio
import sys
import time
from collections.abc import Callable

import msgspec
import uvloop
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

from bench import hub_stage
from postroad.hub.frames import (
    MSGPACK,
    Acked,
    Acknowledge,
    Codec,
    MessageFrame,
    Ok,
    Said,
    SendTo,
    Subscribe,
    Subscribed,
)

CODEC = Codec(MSGPACK)
BATCH = 256
SENDERS, RECIPIENTS = 8, 8
DRAIN_S = 60.0


class Wire(WSListener):
    """A connection without ceremony."""

    def __init__(self, heard: Callable[["Wire", Said], None]) -> None:
        self._heard = heard

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.transport = transport

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:  # noqa: ARG002
        if frame.msg_type == WSMsgType.BINARY:
            self._heard(self, CODEC.event(frame.get_payload_as_bytes()))

    def say(self, command: SendTo | Subscribe | Acknowledge) -> None:
        self.transport.send(WSMsgType.BINARY, CODEC.encode(command))


async def connect(port: int, heard: Callable[[Wire, Said], None]) -> Wire:
    _, wire = await ws_connect(
        lambda: Wire(heard),
        f"ws://127.0.0.1:{port}/",
        extra_headers={"Sec-WebSocket-Protocol": MSGPACK},
        websocket_handshake_timeout=60,
    )
    assert isinstance(wire, Wire)
    return wire


class Subscribing:
    """Many mailboxes over some sockets, in batches, one batch of a socket after the other."""

    def __init__(self, port: int, sockets: int) -> None:
        self._port = port
        self._sockets = sockets
        self._answers: dict[Wire, asyncio.Future[int]] = {}
        self.wires: list[Wire] = []
        self.heard: Callable[[Wire, Said], None] = lambda _wire, _said: None

    async def open(self) -> None:
        self.wires = [await connect(self._port, self._hear) for _ in range(self._sockets)]

    def _hear(self, wire: Wire, said: Said) -> None:
        if isinstance(said, Subscribed):
            self._answers.pop(wire).set_result(said.count)
        else:
            self.heard(wire, said)

    async def subscribe(self, first: int, last: int) -> int:
        """The mailboxes of these numbers, spread over the sockets."""
        counts = await asyncio.gather(
            *[
                self._some(wire, range(first + place, last, len(self.wires)))
                for place, wire in enumerate(self.wires)
            ]
        )
        return sum(counts)

    async def _some(self, wire: Wire, numbers: range) -> int:
        count = 0
        for start in range(0, len(numbers), BATCH):
            some = numbers[start : start + BATCH]
            self._answers[wire] = answer = asyncio.get_running_loop().create_future()
            wire.say(
                Subscribe(n=1, boxes=[(hub_stage.name(n), hub_stage.recipient(n)) for n in some])
            )
            count += await answer
        return count


def say(what: object) -> None:
    sys.stdout.write(msgspec.json.encode(what).decode() + "\n")
    sys.stdout.flush()


async def idle(port: int, sockets: int) -> None:
    """Subscribe up to each number that is read, and say how many there are; then sit still."""
    loop = asyncio.get_running_loop()
    subscribing = Subscribing(port, sockets)
    await subscribing.open()
    say(0)
    count = 0
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        count += await subscribing.subscribe(count, int(line))
        say(count)


class Traffic:
    """Senders and recipients of one hub, all in this process, so that one clock tells how long."""

    def __init__(self, boxes: int) -> None:
        self.names = [hub_stage.name(n) for n in range(boxes)]
        self.sent = 0
        self.accepted = 0
        self.acked = 0
        self.refused = 0
        self.seen: set[tuple[str, int]] = set()
        self.twice = 0
        self.late_ms: list[float] = []
        self.senders: list[Wire] = []
        self.window = 0
        self.until_s = 0.0
        self.over = asyncio.Event()

    async def start(self, port: int) -> None:
        recipients = Subscribing(port, RECIPIENTS)
        recipients.heard = self.received
        await recipients.open()
        await recipients.subscribe(0, len(self.names))
        self.senders = [await connect(port, self.answered) for _ in range(SENDERS)]

    def send(self) -> None:
        number = self.sent % len(self.names)
        self.sent += 1
        wire = self.senders[self.sent % len(self.senders)]
        token, body = hub_stage.sender(number), str(time.perf_counter_ns())
        wire.say(SendTo(n=1, box=self.names[number], token=token, body=body))

    def answered(self, _wire: Wire, said: Said) -> None:
        if isinstance(said, Ok):
            self.accepted += 1
        else:
            self.refused += 1
        if self.window and time.perf_counter() < self.until_s:
            self.send()

    def received(self, wire: Wire, said: Said) -> None:
        if isinstance(said, Acked):
            self.acked += 1
            if self.acked == self.sent and not self.window_open():
                self.over.set()
        message = said.next if isinstance(said, Acked) else said
        if isinstance(message, MessageFrame):
            self.late_ms.append((time.perf_counter_ns() - int(message.body or 0)) / 1e6)
            key = (message.box, message.id)
            self.twice += key in self.seen
            self.seen.add(key)
            wire.say(Acknowledge(n=1, box=message.box, id=message.id))

    def window_open(self) -> bool:
        return time.perf_counter() < self.until_s

    async def full(self, window: int, seconds: float) -> float:
        """As fast as the answers come, with so many sends under way; messages a second."""
        self.window = window
        start_s = time.perf_counter()
        self.until_s = start_s + seconds
        for _ in range(window):
            self.send()
        await asyncio.sleep(seconds)
        await self.drained()
        self.window = 0
        return self.acked / (time.perf_counter() - start_s)

    async def drained(self) -> None:
        async with asyncio.timeout(DRAIN_S):
            while self.acked < self.sent - self.refused:
                await asyncio.sleep(0.002)

    async def paced(self, rate: float, seconds: float) -> list[float]:
        """At a steady rate, whatever the answers; how late each one was, in milliseconds."""
        self.late_ms = []
        start_s, before = time.perf_counter(), self.sent
        while (past_s := time.perf_counter() - start_s) < seconds:
            while self.sent - before < past_s * rate:
                self.send()
            await asyncio.sleep(0.002)
        await self.drained()
        return sorted(self.late_ms)


async def traffic(port: int, boxes: int, window: int, seconds: float) -> None:
    load = Traffic(boxes)
    await load.start(port)
    say("ready")
    rate = await load.full(window, seconds)
    late_ms = await load.paced(rate / 2, seconds)
    say(
        {
            "messages_per_s": rate,
            "p50_ms": late_ms[len(late_ms) // 2],
            "p99_ms": late_ms[int(len(late_ms) * 0.99)],
            "at_half_load": len(late_ms),
            "accepted": load.accepted,
            "acked": load.acked,
            "received": len(load.seen),
            "twice": load.twice,
            "refused": load.refused,
        }
    )


if __name__ == "__main__":
    what, *numbers = sys.argv[1:]
    if what == "idle":
        uvloop.run(idle(int(numbers[0]), int(numbers[1])))
    else:
        uvloop.run(traffic(int(numbers[0]), int(numbers[1]), int(numbers[2]), float(numbers[3])))

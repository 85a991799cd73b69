"""The engine's process: a road with a few handlers, which tell the ledger what they do.

`python -m tests.crash.engine_process ORDER.json` lives once. Without an order it is a nursery:
it has everything imported and forks one engine for each line on stdin, so that a life costs 20 ms
and not half a second.
"""

import asyncio
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from unittest.mock import patch

import msgspec

from postroad import Message, Postroad, Receipt, Send
from postroad.config import Settings
from postroad.model.limits import Limits
from postroad.stores.sqlite import writer
from tests.crash.book import Entry, now_ms
from tests.crash.ledger_process import SOCKET
from tests.crash.orders import LADDER, Order, Parcel

IDLE_CHECK_S = 0.02


class Teller:
    """Tells the ledger; the future is done when the line is on its disk."""

    def __init__(self) -> None:
        self._link = socket.socket(socket.AF_UNIX)
        self._link.connect(SOCKET)
        self._lock = threading.Lock()
        self._waiting: deque[Future[None]] = deque()
        threading.Thread(target=self._listen, daemon=True).start()

    def tell(self, entry: Entry) -> "Future[None]":
        future: Future[None] = Future()
        with self._lock:
            self._waiting.append(future)
            self._link.sendall(entry.line())
        return future

    def _listen(self) -> None:
        while answers := self._link.recv(1 << 12):
            for _ in answers:
                self._waiting.popleft().set_result(None)
        os._exit(3)  # without a ledger there is nothing to prove: never outlive the test


class Recipients:
    """The handlers. What each does with a message is in its body."""

    def __init__(self, teller: Teller, *, hurries: bool) -> None:
        self._teller = teller
        self._hurries = hurries

    def register(self, road: Postroad) -> None:
        road.handler("quick")(self.take)
        road.handler("plain")(self.take_plain)
        road.handler("keys", ladder=LADDER, on_exhausted="skip")(self.take)
        road.handler("flaky", ladder=LADDER)(self.take)
        road.handler("once", at_most_once=True)(self.take)

    async def take(self, message: Message[Parcel]) -> None:
        await asyncio.wrap_future(self._start(message))
        await asyncio.sleep(self._wait_s(message))
        await asyncio.wrap_future(self._end(message))
        self._fail(message)

    def take_plain(self, message: Message[Parcel]) -> None:
        self._start(message).result()
        time.sleep(self._wait_s(message))
        self._end(message).result()
        self._fail(message)

    def _start(self, message: Message[Parcel]) -> "Future[None]":
        start = Entry("start", message.id, message.body.tag, message.attempt, now_ms())
        told = self._teller.tell(start)
        if message.body.kills:
            told.result()
            os.kill(os.getpid(), signal.SIGKILL)
        return told

    def _wait_s(self, message: Message[Parcel]) -> float:
        return 0.0 if self._hurries else message.body.wait_ms / 1000

    def _end(self, message: Message[Parcel]) -> "Future[None]":
        note = "failed" if message.attempt <= message.body.fails else "ok"
        end = Entry("done", message.id, message.body.tag, message.attempt, note=note)
        return self._teller.tell(end)

    def _fail(self, message: Message[Parcel]) -> None:
        if message.attempt <= message.body.fails:
            raise RuntimeError("this one fails")


async def send(road: Postroad, teller: Teller, parcels: Sequence[Parcel]) -> list[Receipt]:
    """Send together; tell before, and again with the receipts."""
    for parcel in parcels:
        teller.tell(Entry("asked", tag=parcel.tag, at_ms=now_ms() + parcel.delay_ms))
    sends = [
        Send(
            parcel.queue,
            parcel,
            order_key=None if parcel.key == "-" else parcel.key,
            delay=parcel.delay_ms / 1000,
        )
        for parcel in parcels
    ]
    receipts = await road.send_many(sends)
    told = [
        teller.tell(Entry("accepted", receipt.id, parcel.tag))
        for receipt, parcel in zip(receipts, parcels, strict=True)
    ]
    for future in told:
        await asyncio.wrap_future(future)
    return receipts


async def send_in_turn(road: Postroad, teller: Teller, parcels: Sequence[Parcel]) -> None:
    for parcel in parcels:
        (receipt,) = await send(road, teller, [parcel])
        if parcel.cancels:
            answer = await road.cancel(receipt.id)
            teller.tell(Entry("cancel", receipt.id, parcel.tag, note=answer.state))
        await asyncio.sleep(parcel.pause_ms / 1000)


async def tell_when_idle(road: Postroad, teller: Teller) -> None:
    while (await road.store.counts()).get("waiting", 0):
        await asyncio.sleep(IDLE_CHECK_S)
    teller.tell(Entry("idle"))


async def live(order: Order) -> None:
    teller = Teller()
    settings = Settings(limits=Limits(drain_s=order.drain_s), log_level="warning")
    road = Postroad("sqlite:///road.db", settings=settings)
    Recipients(teller, hurries=order.hurries).register(road)
    async with road:
        if order.parcels and not order.senders:
            await send(road, teller, order.parcels)
        beside = [
            # A key's parcels have one sender, so that their order is known.
            send_in_turn(road, teller, [p for p in order.parcels if _sender(p, order) == number])
            for number in range(order.senders)
        ]
        if order.tells_when_idle:
            beside.append(tell_when_idle(road, teller))
        teller.tell(Entry("here", note=str(os.getpid())))
        tasks = [asyncio.create_task(one) for one in beside]
        await road.run()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _sender(parcel: Parcel, order: Order) -> int:
    if parcel.key != "-":
        return ord(parcel.key[0]) % order.senders
    return int(parcel.tag[-5:]) % order.senders


def run(packed: bytes) -> None:
    order = msgspec.json.decode(packed, type=Order)
    with patch.object(writer, "CHECKPOINT_PAGES", order.checkpoint_pages):
        asyncio.run(live(order))


def nurse() -> None:
    """Answer each order with the engine's pid, and then with how it ended."""
    for line in sys.stdin.buffer:
        pid = os.fork()
        if pid == 0:
            be_born(line)
        tell(pid)
        tell(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def be_born(line: bytes) -> None:
    code = 1
    try:
        run(line)
        code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stderr.flush()
        os._exit(code)


def tell(number: int) -> None:
    os.write(1, f"{number}\n".encode())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(Path(sys.argv[1]).read_bytes())
    else:
        nurse()

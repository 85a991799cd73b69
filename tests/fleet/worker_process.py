"""The processes of a fleet. `python -m tests.fleet.worker_process` is their nursery: it has
everything imported and forks one for each `ROLE FILE` on stdin, so that a start costs 50 ms and
not a second. It says `NAME born PID` and `NAME ended CODE`, and ends with its stdin.
"""

import asyncio
import os
import selectors
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import uvloop

from postroad import Postroad
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.model.errors import StoreError
from postroad.verbs.receipts import Receipt
from tests.crash.book import now_ms
from tests.crash.engine_process import Teller
from tests.crash.orders import Parcel
from tests.fleet.recipients import Boxes, Desk, register
from tests.fleet.words import Line, Mail, Work, queue_name, retagged

AGAIN_S = 0.2
LOOK_S = 0.02
CLOCKS_MS = 50
"""A sender's idea of the database's time is a little late: its due times are a little early."""

TellAll = Callable[[Sequence[Line]], None]


async def work(order: Work) -> None:
    """Deliver until SIGTERM."""
    desk = Desk(Teller(), order.name)
    settings = Settings(limits=order.limits, log_level="warning")
    road = Postroad(order.dsn, settings=settings, transports=[Boxes(desk)])
    register(road, desk)
    async with road:
        desk.tell(Line("here", note=str(os.getpid())))
        await road.run()
    desk.tell(Line("left")).result(5)


async def mail(order: Mail) -> None:
    """Send everything, one batch after the other."""
    desk = Desk(Teller(), order.name)

    def tell_all(lines: Sequence[Line]) -> None:
        for future in [desk.tell(line) for line in lines]:
            future.result(10)

    await send_all(order, tell_all)
    tell_all([Line("sent")])


async def send_all(order: Mail, tell_all: TellAll) -> None:
    """In batches, over a road of their own."""
    road = Postroad(order.dsn, transports=[Boxes(None)])
    register(road, None)
    async with road:
        for start in range(0, len(order.parcels), order.batch):
            parcels = order.parcels[start : start + order.batch]
            await _send(road, parcels, tell_all, order)
            await asyncio.sleep(order.rest_ms / 1000)


async def _send(road: Postroad, parcels: Sequence[Parcel], tell_all: TellAll, order: Mail) -> None:
    """One batch; the ledger knows before and after."""
    _ask(parcels, tell_all)
    while (receipts := await _try(road, parcels, tell_all, order)) is None:
        await asyncio.sleep(AGAIN_S)
        if order.anew:
            parcels = [retagged(parcel) for parcel in parcels]
            _ask(parcels, tell_all)
    pairs = zip(receipts, parcels, strict=True)
    tell_all([Line("accepted", receipt.id, parcel.tag) for receipt, parcel in pairs])


def _ask(parcels: Sequence[Parcel], tell_all: TellAll) -> None:
    due_ms = now_ms() - CLOCKS_MS
    tell_all([Line("asked", tag=p.tag, at_ms=due_ms + p.delay_ms) for p in parcels])


async def _try(
    road: Postroad, parcels: Sequence[Parcel], tell_all: TellAll, order: Mail
) -> list[Receipt] | None:
    """None: the store did not say whether it has them."""
    sends: list[Send | tuple[str, object]] = [
        Send(
            queue_name(parcel),
            parcel,
            key=parcel.tag if order.sure else None,
            order_key=None if parcel.key == "-" else parcel.key,
            delay=parcel.delay_ms / 1000,
        )
        for parcel in parcels
    ]
    try:
        return await road.send_many(sends)
    except StoreError as error:
        if not (order.sure or order.anew):
            raise
        tell_all([Line("refused", note=f"{type(error).__name__}: {error}"[:200])])
        return None


def live(role: str, path: Path) -> None:
    """As one of them."""
    packed = path.read_bytes()
    if role == "work":
        uvloop.run(work(msgspec.json.decode(packed, type=Work)))
    else:
        uvloop.run(mail(msgspec.json.decode(packed, type=Mail)))


def nurse() -> None:
    """Fork, and tell how each one ended."""
    born: dict[int, str] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        rest = b""
        while True:
            if selector.select(LOOK_S):
                data = os.read(0, 1 << 16)
                if not data:
                    return
                *orders, rest = (rest + data).split(b"\n")
                for order in orders:
                    role, _, path = order.decode().partition(" ")
                    born[bear(role, Path(path))] = Path(path).stem
            while born:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                say(f"{born.pop(pid)} ended {os.waitstatus_to_exitcode(status)}")


def bear(role: str, path: Path) -> int:
    pid = os.fork()
    if pid:
        say(f"{path.stem} born {pid}")
        return pid
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        live(role, path)
        code = 0
    except BaseException:  # noqa: BLE001 - told, and then it ends whatever it was
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


if __name__ == "__main__":
    nurse()

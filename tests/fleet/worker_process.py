"""A process of the fleet: `python -m tests.fleet.worker_process work|mail ORDER.json`."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import uvloop

from postroad import Postroad
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.model.errors import StoreError
from tests.crash.book import now_ms
from tests.crash.engine_process import Teller
from tests.crash.orders import Parcel
from tests.fleet.recipients import Boxes, Desk, register
from tests.fleet.words import Line, Mail, Work, queue_name

AGAIN_S = 0.2


async def work(order: Work) -> None:
    """Deliver until SIGTERM."""
    desk = Desk(Teller(), order.name)
    road = Postroad(
        order.dsn, settings=Settings(limits=order.limits), transports=[Boxes(desk)]
    )
    register(road, desk)
    async with road:
        desk.tell(Line("here", note=str(os.getpid())))
        await road.run()
    desk.tell(Line("left")).result(5)


async def mail(order: Mail) -> None:
    """Send everything, one batch after the other."""
    desk = Desk(Teller(), order.name)
    road = Postroad(order.dsn, transports=[Boxes(None)])
    register(road, None)
    async with road:
        for start in range(0, len(order.parcels), order.batch):
            await send(road, desk, order.parcels[start : start + order.batch], sure=order.sure)
            await asyncio.sleep(order.rest_ms / 1000)
    desk.tell(Line("sent")).result(5)


async def send(road: Postroad, desk: Desk, parcels: Sequence[Parcel], *, sure: bool) -> None:
    """One batch; the ledger knows before and after."""
    for parcel in parcels:
        desk.tell(Line("asked", tag=parcel.tag, at_ms=now_ms() + parcel.delay_ms))
    sends = [
        Send(
            queue_name(parcel),
            parcel,
            key=parcel.tag if sure else "",
            order_key="" if parcel.key == "-" else parcel.key,
            delay=parcel.delay_ms / 1000,
        )
        for parcel in parcels
    ]
    while True:
        try:
            receipts = await road.send_many(sends)
            break
        except StoreError as error:
            if not sure:
                raise
            desk.tell(Line("refused", note=f"{type(error).__name__}: {error}"[:200]))
            await asyncio.sleep(AGAIN_S)
    told = [
        desk.tell(Line("accepted", receipt.id, parcel.tag))
        for receipt, parcel in zip(receipts, parcels, strict=True)
    ]
    for future in told:
        await asyncio.wrap_future(future)


def main(role: str, path: str) -> None:
    packed = Path(path).read_bytes()
    if role == "work":
        uvloop.run(work(msgspec.json.decode(packed, type=Work)))
    else:
        uvloop.run(mail(msgspec.json.decode(packed, type=Mail)))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What the processes of a fleet are told, and the lines that they write into the ledger."""

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.limits import Limits
from tests.crash.book import Entry
from tests.crash.orders import Parcel, tag

BRISK = Limits(lease_ms=5_000, stale_ms=3_500, beat_ms=700, linger_ms=1_000, drain_s=2.0)
"""As shipped, but what takes half a minute takes 5 seconds."""


class Line(Entry, frozen=True, omit_defaults=True):
    """One line of the ledger: who wrote it, and on which lane."""

    worker: str = ""
    lane: str = ""


class Work(Struct, frozen=True):
    """One worker process: serves every queue of the fleet until it is told to stop."""

    name: str
    dsn: str
    limits: Limits = BRISK


class Mail(Struct, frozen=True):
    """One sender process: sends its parcels in batches, in order, and ends."""

    name: str
    dsn: str
    parcels: list[Parcel] = []
    batch: int = 50
    rest_ms: int = 0
    """Between two batches."""
    sure: bool = False
    """With an idempotency key each, and again until they are accepted."""
    anew: bool = False
    """Without a key: what was refused is sent again under another tag, until it is accepted."""


def queue_name(parcel: Parcel) -> str:
    """`box-3.7` is a queue of a transport, on the lane of server 3; the others are handlers."""
    if not parcel.queue.startswith("box-"):
        return parcel.queue
    server, _, number = parcel.queue.removeprefix("box-").partition(".")
    return f"box://{server}/{number}"


def retagged(parcel: Parcel) -> Parcel:
    """The same again, under the name of another life."""
    queue, key, life, number = parcel.tag.split("/")
    return replace(parcel, tag=tag(queue, int(life) + 1, int(number), key))

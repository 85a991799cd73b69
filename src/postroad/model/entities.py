"""Messages, queues, lanes and rungs."""

from hashlib import blake2b
from typing import Final
from zlib import crc32

from msgspec import Struct

from postroad.model.block import Block
from postroad.model.circuit import CLOSED, Circuit
from postroad.model.errors import PostroadError
from postroad.model.hours import OpenHours
from postroad.model.ladder import DEFAULT_LADDER, Ladder
from postroad.model.states import NEVER

ORDER_GROUPS: Final = 64
HANDLER_SHARDS: Final = 16
PRIORITIES: Final = range(-9, 10)
DAY_MS: Final = 86_400_000
GOLDEN: Final = 0x9E3779B97F4A7C15
MASK: Final = (1 << 64) - 1
DEFAULT_TENANT: Final = "default"


class LaneKey(Struct, frozen=True, gc=False):
    """One transport session: at most one worker in the whole fleet serves it."""

    transport: str
    server: str
    credential: str = ""
    shard: int = 0
    tenant: str = DEFAULT_TENANT

    @property
    def pool(self) -> str:
        """Who may claim the lane: any process with the transport, or, for a handler, only
        those that registered it."""
        return f"handler:{self.server}" if self.transport == "handler" else self.transport


class Policy(Struct, frozen=True, gc=False):
    """How a queue treats its messages; kept with the queue."""

    ladder: Ladder = DEFAULT_LADDER
    ordered: bool = False
    """The whole queue in order of acceptance; single messages can also carry an order key."""
    skip_exhausted: bool = False
    """Ordered: an exhausted head dies and the next one goes, instead of holding its order group."""
    at_most_once: bool = False
    """Mark before sending; a doubtful send becomes `uncertain` and is never repeated by itself."""
    timeout_ms: int = 30_000
    keep_bodies_ms: int = 0
    """How long the bodies of delivered messages are kept; 0 is as the road says."""
    result_ttl_ms: int = 0
    """How long what a handler returns is kept; 0 is not at all."""
    quota_ttl_ms: int = 7 * DAY_MS
    unreachable_ttl_ms: int = 2 * DAY_MS


class QueueSpec(Struct, frozen=True):
    """How a queue is to be made: tenant, name, lane (without shard) and policy."""

    tenant: str
    name: str
    lane: LaneKey
    shards: int
    policy: Policy


class Queue(Struct, frozen=True, gc=False):
    """One recipient as the store knows it."""

    id: int
    tenant: str
    name: str
    policy: Policy
    lanes: tuple[int, ...]
    """Lane ids by shard."""
    block: Block | None = None
    paused: bool = False
    resumed_at_ms: int = 0
    """After a pause a queue does not go on at full speed at once."""
    ledgers: tuple[int, ...] = ()
    """The limits that a start takes a rate slot of: those of its lane, the slowest first, then its
    own."""
    hours: tuple[OpenHours, ...] = ()
    """When its tries may start."""


class Lane(Struct, frozen=True, gc=False):
    """A lane as its owner received it."""

    id: int
    key: LaneKey
    epoch: int
    circuit: Circuit = CLOSED
    crashes: int = 0
    """Leases lost in a row; above zero the owner marks what it starts."""
    paused: bool = False


class Rung(Struct, frozen=True, gc=False):
    """The messages of one queue that wait at one level (and priority, and order group)."""

    id: int
    lane: int
    queue: int
    level: int
    priority: int = 0
    order_group: int = 0
    ready_at_ms: int = NEVER

    @property
    def ordered(self) -> bool:
        """Whether one message at a time goes, in order of acceptance."""
        return self.order_group > 0


class Draft(Struct, frozen=True, gc=False):
    """A message on its way into the store."""

    id: int
    queue: int
    lane: int
    order_group: int
    priority: int
    accepted_at_ms: int
    due_ms: int
    expires_at_ms: int
    body: bytes
    headers: bytes = b""
    key: str = ""
    order_key: str = ""
    said: bytes = b""
    """The headers as its key is compared by them, where some of them are secrets."""
    blobs: tuple[str, ...] = ()
    """Stored contents that its body refers to."""
    replace: str = ""
    """The message takes the place of an earlier one with this key that has not started."""
    at_most_ms: int = 0
    """How long replacing may put it off, from the first one on; 0 is for ever."""
    key_ms: int = 0
    """How long its key counts, whatever the body; 0 is a day, for the same body."""


class Message(Struct, frozen=True, gc=False):
    """A message as its lane's owner reads it."""

    id: int
    rung: int
    queue: int
    lane: int
    level: int
    attempts: int
    marks: int
    """Starts noted in leases that were then lost."""
    place: int
    due_ms: int
    accepted_at_ms: int
    expires_at_ms: int
    body: bytes
    headers: bytes = b""


class Accepted(Struct, frozen=True, gc=False):
    """The store's answer to a draft: its id, or that of the first one with the same key.
    `refused`: it is not stored, though others beside it may be."""

    id: int
    duplicate: bool = False
    conflict: bool = False
    refused: PostroadError | None = None
    earlier: str = ""
    """What became of the earlier one that it was to replace."""

    @property
    def stored(self) -> bool:
        """Whether it is stored, now or before."""
        return not self.conflict and self.refused is None


def digest_of(draft: Draft) -> bytes:
    """Digest what must be the same for an idempotency key to count again: body and headers, without
    secrets and without the trace of a send, which is written last."""
    if draft.key_ms:
        return b""  # one is one, whatever it says
    headers = draft.said or draft.headers
    before, found, _ = headers.rpartition(b'"traceparent":')
    said = before if found else headers
    return blake2b(draft.body + b"\0" + said.rstrip(b",{}"), digest_size=16).digest()


def hashed(text: str, buckets: int) -> int:
    """Hash into a bucket, the same in every process and release."""
    return crc32(text.encode()) % buckets


def order_group_of(policy: Policy, order_key: str) -> int:
    """Return the order group: 0 is unordered, 1 to 64 by order key, and 1 for a queue that is
    ordered as a whole."""
    if policy.ordered:
        return 1
    return 1 + hashed(order_key, ORDER_GROUPS) if order_key else 0


def shard_of(policy: Policy, shards: int, order_key: str, number: int) -> int:
    """Choose which of the queue's lanes takes the message."""
    if shards == 1 or policy.ordered:
        return 0
    if order_key:
        return hashed(order_key, shards)
    # Neither the low bits of an id (its node) nor the ones above (often 0) vary enough: mix all.
    return ((number * GOLDEN) & MASK) * shards >> 64

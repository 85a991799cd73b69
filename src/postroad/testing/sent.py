"""What a rehearsal has seen sent, and which of it a test asks for."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypedDict

import msgspec
from msgspec import Struct

from postroad.model.bodies import encode_body
from postroad.model.errors import BadInput
from postroad.model.ids import to_text
from postroad.model.near_names import nearest
from postroad.model.replacing import MARK, UNIQUE
from postroad.stores.sqlite.database import Row
from postroad.transports.job import plain

# Inside the transactions that store messages, whichever verb sent them: what is rolled back, or
# was sent before under its key, is not noted; what is replayed is not noted again.
NOTE: Final = """
create table rehearsal_sent (
  id integer primary key, queue text, tenant text, priority integer, due integer, order_key text,
  headers blob, body blob);
create table rehearsal_key (id integer primary key, key text);
create trigger rehearsal_note after insert on message begin
  insert or ignore into rehearsal_sent
  select new.id, queue.name, queue.tenant, rung.priority, new.due, new.order_key, new.headers,
         new.body
    from rung join queue on queue.id = rung.queue_id where rung.id = new.rung_id;
end;
create trigger rehearsal_note_key after insert on idempotency begin
  insert or ignore into rehearsal_key values (new.message_id, new.key);
end;
"""
NOTED: Final = """
select s.id, s.queue, s.body, s.headers, coalesce(k.key, ''), s.order_key, s.priority, s.tenant,
       s.due
  from rehearsal_sent s left join rehearsal_key k on k.id = s.id order by s.id
"""


class Sent(Struct, frozen=True):
    """A message that was sent, by the test, a handler, a batch or a timetable."""

    id: str
    queue: str
    body: object
    headers: dict[str, str]
    key: str
    """Empty without one."""
    order_key: str
    priority: int
    tenant: str
    due: datetime
    """When it is to be delivered."""


class SentMatch(TypedDict, total=False):
    """Which messages are meant: all that is given has to hold."""

    prefix: str
    """The queue's name begins with it: `https://api.example.com/`."""
    contains: Mapping[str, object]
    """The body is an object that has these fields, among others; also inside of it."""
    headers: Mapping[str, str]
    """Headers that the message has, among others."""
    key: str
    order_key: str
    priority: int
    tenant: str
    where: Callable[[Sent], bool]
    """Returns True for the message."""


def read_sent(row: Row) -> Sent:
    """A message from its note."""
    number, queue, body, packed, key, *how, due_ms = row
    headers = msgspec.json.decode(packed, type=dict[str, str]) if packed else {}
    own_key = "" if key.startswith((MARK, UNIQUE)) else key
    due = datetime.fromtimestamp(due_ms / 1000, UTC)
    about = (to_text(number), queue, plain(body, headers), headers, own_key, *how, due)
    return Sent(*about)


def matching(all_sent: Sequence[Sent], queue: str, body: object, which: SentMatch) -> list[Sent]:
    """Those that a test asks for, in order."""
    for name in which.keys() - SentMatch.__optional_keys__:
        hint = nearest(name, SentMatch.__optional_keys__) or ""
        raise BadInput(f"sent: there is no {name}={hint}")
    wanted = body if body is ... else as_read(body)
    return [
        one
        for one in all_sent
        if queue in ("", one.queue) and (body is ... or one.body == wanted) and _meets(one, which)
    ]


def _meets(one: Sent, which: SentMatch) -> bool:
    plain_fields = {name: which[name] for name in PLAIN if name in which}
    return (
        all(getattr(one, name) == value for name, value in plain_fields.items())
        and one.queue.startswith(which.get("prefix", ""))
        and _has(one.body, which.get("contains", {}))
        and which.get("headers", {}).items() <= one.headers.items()
        and which.get("where", _any)(one)
    )


def _has(body: object, fields: object) -> bool:
    """Whether a body has these fields, also inside of it."""
    if not isinstance(fields, Mapping):
        return body == as_read(fields)
    if not fields:
        return True
    return isinstance(body, dict) and all(
        name in body and _has(body[name], value) for name, value in fields.items()
    )


def _any(_one: Sent) -> bool:
    return True


def as_read(body: object) -> object:
    """A body as a handler reads it."""
    return body if isinstance(body, bytes) else msgspec.json.decode(encode_body(body))


PLAIN: Final = ("key", "order_key", "priority", "tenant")

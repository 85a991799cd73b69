"""Messages that replace earlier ones, and those that are sent once in a while."""

from hashlib import blake2b
from typing import Final

from msgspec.structs import replace

from postroad.model.durations import CENTURY_S, seconds_of
from postroad.model.entities import Draft
from postroad.model.errors import BadInput, BadTime
from postroad.model.texts import checked

REPLACED, STARTED = "replaced", "started"
"""What became of the earlier one: it is cancelled, or its time had come."""
MARK: Final = "\x01replace:"
"""What keys of replaced messages begin with, where they are stored beside idempotency keys."""
UNIQUE: Final = "\x01unique:"
MARGIN_MS: Final = 200
"""A message that is due so soon counts as started: its lane's owner may be reading it."""
KEPT_MS: Final = 86_400_000
"""How long after its time the key of a replaced message is remembered."""


def shaped(draft: Draft, key: object, at_most: object, unique_for: object) -> Draft:
    """Return a draft that replaces an earlier one, or is sent once in so long."""
    if key is not None:
        draft = _replacing(draft, key, at_most)
    elif seconds_of(at_most):
        raise BadInput("at_most= goes with replace=: it says how long replacing may put it off")
    return _unique(draft, unique_for) if unique_for else draft


def _replacing(draft: Draft, key: object, at_most: object) -> Draft:
    if not isinstance(key, str) or not key:
        raise BadInput(f"replace={key!r:.100}: give a text, the same for those that replace it")
    if draft.key:
        raise BadInput("give key= or replace=, not both: replacing makes a new message")
    if draft.order_group:
        raise BadInput("an ordered message is not replaced: it would lose its place")
    _ = checked("key", key)  # whether stores take it
    return replace(draft, replace=MARK + key, at_most_ms=_span_ms("at_most", at_most))


def _unique(draft: Draft, unique_for: object) -> Draft:
    if draft.replace:
        raise BadInput("give replace= or unique_for=, not both")
    own = UNIQUE + blake2b(draft.body, digest_size=16).hexdigest()
    return replace(draft, key=draft.key or own, key_ms=_span_ms("unique_for", unique_for))


def _span_ms(name: str, span: object) -> int:
    seconds = seconds_of(span)
    if not 0 <= seconds <= CENTURY_S:
        raise BadTime(f"{name}={span!r:.100}: give seconds or a timedelta, at most a century")
    return int(seconds * 1000)


def due_ms(draft: Draft, first_ms: int) -> int:
    """When a message is due that replaces others, the first of them sent at `first_ms`."""
    return min(draft.due_ms, first_ms + draft.at_most_ms) if draft.at_most_ms else draft.due_ms

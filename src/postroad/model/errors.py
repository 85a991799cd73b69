"""Every error a user can meet. Each message says what happened and what to do."""

from errno import EMFILE, ENFILE
from typing import Self

from postroad.model.spans import CENTURY_S, Span, seconds_of


class PostroadError(Exception):
    """Root of all errors that Postroad raises on purpose."""

    stored: tuple[str, ...] = ()
    """Ids of messages that were sent with it and are stored all the same."""


class BadInput(PostroadError):
    """What was asked cannot be done as it was asked; nothing was stored."""


class BadDsn(BadInput):
    """The store's address cannot be understood."""


class BadSetting(BadInput):
    """A setting has a name or a value that makes no sense."""


class BadBody(BadInput):
    """The body cannot be serialised."""


class BodyTooLarge(BadInput):
    """The body is over the limit."""


class BadUrl(BadInput):
    """A webhook's address cannot be called: malformed, unresolvable or forbidden."""


class BadKey(BadInput):
    """A key for secrets at rest is malformed, missing, or does not open what it should."""


class UnsafeFile(BadInput):
    """A file beside a road that holds a secret may be somebody else's: it is not used."""


class BadTime(BadInput):
    """A delay is negative, or a time makes no sense."""


class UnknownQueue(BadInput):
    """No handler of that name is registered, and no such queue is known to the road."""


class UnknownLane(BadInput):
    """No lane of that number is known."""


class UnknownMessage(BadInput):
    """No message of that id is known."""


class UnknownToken(BadInput):
    """No access token of that id is known."""


class UnknownMailbox(BadInput):
    """No mailbox of that name is known."""


class NotOnRabbitMQ(BadInput):
    """A road on RabbitMQ cannot do this; the text says what to use instead."""


class NotDead(BadInput):
    """The message is known, but not in the dead set; nothing was changed."""


class NotUncertain(BadInput):
    """The message is known, but nobody doubts what became of it; nothing was changed."""


class NotCancelled(BadInput):
    """The message was finished before: there is nothing left to cancel."""


class CopyRefused(BadInput):
    """A road cannot be copied as asked, or its copy is not the same; the source is unchanged."""


class Conflict(BadInput):
    """The idempotency key was used within its time for another body. `stored` are the ids of
    those sent with it that are stored."""


class MissingExtra(PostroadError):
    """A library is not installed that this needs; the text names the extra that brings it."""


class Unauthorized(PostroadError):
    """No access token was given, or it is mistyped, revoked or out of date."""


class Forbidden(PostroadError):
    """The access token does not allow this, or the request comes from another site's page."""


class TooManyTries(PostroadError):
    """Too many wrong access tokens from one address; wait a minute."""


class Overloaded(PostroadError):
    """The server cannot store more in time: what was sent may not be stored. Send it again after a
    while, with the same key."""


class Crowded(Overloaded):
    """One tenant fills more than half of the room for messages that wait to be stored; nothing of
    this request was stored."""


class TenantFull(PostroadError):
    """A tenant has as many queues, lanes, messages, mailboxes, campaigns or imports as it may have;
    the text says which setting raises that. Nothing of this request was stored."""


class Shortage(Overloaded):
    """This process has no file descriptor left: nothing was sent, and nobody else is to blame."""

    @classmethod
    def of(cls, error: BaseException | None) -> Self | None:
        """What an error means, if it means this."""
        if isinstance(error, cls):
            return error
        if not isinstance(error, OSError) or error.errno not in (EMFILE, ENFILE):
            return None
        return cls(
            f"this process has no file descriptor left ({error.strerror}): raise `ulimit -n`, or "
            "lower `limits.in_flight_max`"
        )


class NotOpen(PostroadError):
    """The road is not open: use it inside `async with road:`."""


class StoreError(PostroadError):
    """The store cannot do its work now."""


class RoadInUse(StoreError):
    """Another process owns this road's file."""


class NoHubHere(StoreError):
    """This process serves no hub."""


class HubInUse(StoreError):
    """Another process is the hub of this store."""


class CannotListen(StoreError):
    """Another program listens on that port, or this machine does not let us."""


class QueueGone(StoreError):
    """Nobody had used the queue for long, and it was deleted at this very moment; nothing of this
    was stored. Do it again: the queue is made anew."""


class SchemaTooNew(StoreError):
    """The database was written by a newer Postroad."""


class SchemaTooOld(StoreError):
    """The database was written by an older Postroad and has to be migrated."""


class CorruptStore(StoreError):
    """The file is not a database, or is damaged."""


class ReadOnlyStore(StoreError):
    """The file, or its folder, cannot be written."""


class DiskFull(StoreError):
    """No space is left; nothing was half-written."""


class AccessRefused(StoreError):
    """The database does not let this user in, or not do what is needed."""


class NoSuchDatabase(StoreError):
    """The server has no database of that name."""


class ServerTooOld(StoreError):
    """The database server is older than Postroad needs."""


class StoreUnavailable(StoreError):
    """The store does not answer; try again later."""


class NoSuchVhost(NoSuchDatabase):
    """The broker has no vhost of that name."""


class CopyUnfinished(StoreError):
    """A road is being copied into this database, or its copy broke off: it cannot be run before
    the copy is complete."""


class TopologyDiffers(StoreError):
    """A queue or exchange of that name exists with other arguments."""


class BrokerLost(StoreUnavailable):
    """The connection to the broker, or a channel of it, is gone: what was under way may have been
    done, or not."""


class BrokerForgot(StoreUnavailable):
    """A queue or exchange that was there is gone."""


class BrokerBlocked(StoreUnavailable):
    """The broker takes no messages now: it is short of memory or disk."""


class QueueFull(StoreUnavailable):
    """The broker refused the message: its queue is full. It is not stored; send it later."""


class Unroutable(StoreUnavailable):
    """The broker has no queue for the message. It is not stored."""


def is_about_store(error: Exception) -> bool:
    """Whether an error of a write is about the store (away, full, read-only…), so that waiting may
    help. Any other, also one that has no name of its own, may be about what was to be written."""
    return isinstance(error, StoreError) and type(error) is not StoreError


class HubError(PostroadError):
    """A hub did not do what was asked."""


class HubRefused(HubError):
    """The hub said no; `code` is the word of its protocol."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class MailboxFull(HubError):
    """The mailbox is over its quota: it takes nothing until it is empty."""


class HubAway(HubError):
    """There is no connection to the hub; nothing was sent."""


class HubLost(HubError):
    """The connection broke before the hub answered: it may have been done, or not."""


class Reject(Exception):
    """Raise in a handler: this message will never succeed; put it in the dead set now."""


class RetryLater(Exception):
    """Raise in a handler: try again after so many seconds, or a timedelta, without spending a
    level."""

    def __init__(self, after: Span, reason: str = "") -> None:
        after_s = seconds_of(after)
        super().__init__(reason or f"retry after {after_s} s")
        if not 0 <= after_s <= CENTURY_S:
            raise BadTime(
                f"RetryLater(after={after!r}): give seconds from now or a timedelta, not a "
                "negative one, at most a century"
            )
        self.after_ms = int(after_s * 1000)

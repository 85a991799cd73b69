"""Every error a user can meet. Each message says what happened and what to do."""

from errno import EMFILE, ENFILE
from typing import Self

from postroad.model.durations import CENTURY_S, Duration, seconds_of


class PostroadError(Exception):
    """Root of all errors that Postroad raises on purpose."""

    stored: tuple[str, ...] = ()
    """Ids of messages that were sent with it and are stored all the same."""


class BadInput(PostroadError):
    """What was asked cannot be done as it was asked; nothing was stored. Change what the text
    names."""


class BadDsn(BadInput):
    """The store's address cannot be understood. Write it as the text shows."""


class BadSetting(BadInput):
    """A setting has an unknown name or a value that cannot be used. The text names it and what it
    may be."""


class BadBody(BadInput):
    """The body cannot be written as JSON. Give JSON values, a msgspec Struct, a dataclass, a
    pydantic model, or bytes; no NaN and no infinity."""


class BodyTooLarge(BadInput):
    """The body is over the limit. Send a reference to it, or raise the setting that is named."""


class BadUrl(BadInput):
    """A webhook's address cannot be called: it is malformed, has no address, or is forbidden.
    Correct it, or allow its network in the settings."""


class BadKey(BadInput):
    """A key for secrets at rest is malformed, missing, or does not open what it should. Give the
    right one in POSTROAD_KEYS."""


class UnsafeFile(BadInput):
    """A file beside a road holds a secret and may be somebody else's, so it is not used. Make it
    yours and private, or delete it."""


class BadTime(BadInput):
    """A delay is negative, or a time cannot be read. Give seconds, a timedelta, or a time with its
    zone."""


class BadCursor(BadInput):
    """The `after` of a list is not one that a page gave. Give it unchanged, or leave it out."""


class CursorOfAnotherQuery(BadCursor):
    """The `after` of a list belongs to a list with other filters. Give the filters of the page
    before, or begin again without it."""


class NoBody(BadInput):
    """The message has no stored body, so that it cannot be sent again. Set `keep_bodies` for its
    queue or its road, for messages that are delivered from then on."""


class UnknownQueue(BadInput):
    """No handler of that name is registered, and the road has no such queue. Register it, or start
    its worker once."""


class UnknownLane(BadInput):
    """No lane of that number is known. List lanes to find it."""


class UnknownMessage(BadInput):
    """No message of that id is known. Check the id; finished ones go after their retention."""


class UnknownEndpoint(BadInput):
    """No endpoint of that id is known. List endpoints to find it."""


class UnknownEvent(BadInput):
    """No event of that id is known. Check the id; events are forgotten after their retention."""


class UnknownEventType(BadInput):
    """The road has event types, and none of that name. Add it, or correct the name."""


class EventTypeArchived(BadInput):
    """The event type is archived: nothing of it is published. Use another, or unarchive it."""


class BadFilter(BadInput):
    """A filter of an endpoint is malformed, too deep or too large. Write it as the text says."""


class BadSchema(BadInput):
    """A JSON Schema cannot be used: malformed, too large, or with a reference to elsewhere."""


class SchemaMismatch(BadInput):
    """The body of an event does not fit its schema at the JSON pointer that the text names."""


class UnknownToken(BadInput):
    """No access token of that id is known. List tokens to find it."""


class UnknownErasure(BadInput):
    """No erasure of that number is known. List erasures to find it."""


class UnknownSuppression(BadInput):
    """The recipient is not on the suppression list, or not for that reason. List it to see what
    is."""


class UnknownMailbox(BadInput):
    """No mailbox of that name is known. List mailboxes to find it, or make one."""


class UnknownRule(BadInput):
    """No answer rule of that name is known. List rules to find it, or put one."""


class UnknownLimit(BadInput):
    """No named limit of that name is known. List limits to find it, or put one."""


class NotOnRabbitMQ(BadInput):
    """A road on RabbitMQ cannot do this; the text says what to use instead."""


class NotOnRemoteRoad(BadInput):
    """A road that another process serves cannot do this; the text says where it can be done."""


class NotDead(BadInput):
    """The message is known, but not in the dead set; nothing was changed. Explain it to see its
    state."""


class NotUncertain(BadInput):
    """The message is known, but not uncertain; nothing was changed. Explain it to see its state."""


class NotCancelled(BadInput):
    """The message was finished before, so that nothing is left to cancel. Explain it to see how it
    ended."""


class CopyRefused(BadInput):
    """A road cannot be copied as asked, or its copy is not the same; the source is unchanged. The
    text says what to mend before you copy again."""


class Conflict(BadInput):
    """The idempotency key was used within its time for another body. Use a new key for a new
    message. `stored` are the ids of those sent with it that are stored."""


class MissingExtra(PostroadError):
    """This needs a library that is not installed. Install the extra that the text names."""


class Unauthorized(PostroadError):
    """No access token was given, or it is mistyped, revoked or expired. Give a valid one."""


class Forbidden(PostroadError):
    """The access token does not allow this, or the request comes from another site's page. Use a
    token with the scope that the text names."""


class TooManyTries(PostroadError):
    """Too many wrong access tokens came from one address. Wait a minute."""


class Overloaded(PostroadError):
    """The server cannot store more in time: what was sent may not be stored. Send it again after a
    while, with the same key if it has one."""


class Crowded(Overloaded):
    """One tenant uses more than half of the memory for messages that wait to be stored; nothing of
    this request was stored. Send it again after a while."""


class TenantFull(PostroadError):
    """A tenant has as many queues, lanes, messages, campaigns, timetables and so on as it may have;
    nothing of this request was stored. Finish or delete some, or raise the setting that the text
    names."""


class Shortage(Overloaded):
    """This process has no file descriptor left; nothing was sent. Raise `ulimit -n`, or let fewer
    sends be in flight."""

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
    """The road is not open. Use it inside `async with road:`."""


class StoreError(PostroadError):
    """The store cannot do its work now. The text says why; what was asked may be asked again."""


class RoadInUse(StoreError):
    """Another process owns this road's file. Stop that process, or send through its API."""


class ForeignWindow(StoreError):
    """The window of the road belongs to another user. Ask as that user or as root, or over HTTP
    with a token."""


class NotPostroad(StoreError):
    """What answers at the road's address is no Postroad server. Correct the address, or look what
    listens there."""


class OlderServer(StoreError):
    """The server is of an older release than this program needs. Upgrade the server first."""


class NoHubHere(StoreError):
    """This process serves no hub. Ask the one that does, or start it with `hub_listen` set."""


class HubInUse(StoreError):
    """Another process is the hub of this store. Stop that process first, or use it."""


class CannotListen(StoreError):
    """Another program listens on that port, or it is not allowed here. Choose another port."""


class QueueGone(StoreError):
    """The queue was unused for long and was deleted at this moment; nothing of this was stored.
    Send again: that makes the queue again."""


class SchemaTooNew(StoreError):
    """The database was written by a newer Postroad. Upgrade this one."""


class SchemaTooOld(StoreError):
    """The database was written by an older Postroad. Run `postroad migrate`."""


class CorruptStore(StoreError):
    """The file is not a database, or is damaged. Name the right file, or restore a backup."""


class ReadOnlyStore(StoreError):
    """The file, or its folder, cannot be written. Give this user the right to write there."""


class DiskFull(StoreError):
    """No space is left; nothing was half-written. Free some, then do it again."""


class AccessRefused(StoreError):
    """The database does not let this user in, or does not allow what is needed. Check user,
    password and grants."""


class NoSuchDatabase(StoreError):
    """The server has no database of that name. Create it, or correct the name."""


class ServerTooOld(StoreError):
    """The database server is older than Postroad needs. Upgrade the server."""


class StoreUnavailable(StoreError):
    """The store does not answer. Try again later."""


class NoOwner(StoreUnavailable):
    """No process that can be asked owns the road's file. Start the program that owns it, or open
    the file itself."""


class RoadUnreachable(StoreUnavailable):
    """The process that serves the road does not answer. What was asked may have been done, if the
    text says so. Try again later."""


class NoSuchVhost(NoSuchDatabase):
    """The broker has no vhost of that name. Create it, or correct the name."""


class CopyUnfinished(StoreError):
    """A road is being copied into this database, or its copy broke off. Finish the copy before you
    run the road."""


class TopologyDiffers(StoreError):
    """A queue or exchange of that name exists with other arguments. Delete it, or use another
    vhost."""


class BrokerLost(StoreUnavailable):
    """The connection to the broker, or a channel of it, is gone: what was under way may have been
    done, or not. Send it again; it may arrive twice."""


class BrokerForgot(StoreUnavailable):
    """A queue or exchange that was there is gone. It is declared again; try again later."""


class BrokerBlocked(StoreUnavailable):
    """The broker takes no messages now: it is short of memory or disk. Free some, or try again
    later."""


class QueueFull(StoreUnavailable):
    """The broker refused the message: its queue is full. It is not stored; send it later."""


class Unroutable(StoreUnavailable):
    """The broker has no queue for the message. It is not stored; send it again."""


def is_about_store(error: Exception) -> bool:
    """Whether an error of a write is about the store (away, full, read-only…), so that waiting may
    help. Any other, also one that has no name of its own, may be about what was to be written."""
    return isinstance(error, StoreError) and type(error) is not StoreError


class HubError(PostroadError):
    """A hub did not do what was asked. The text says why."""


class HubRefused(HubError):
    """The hub refused; `code` is its protocol's word for the reason, and the text says what to
    change."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class MailboxFull(HubError):
    """The mailbox is over its quota: it takes nothing until it is empty. `watched`: the hub says so
    when it is; otherwise send again later."""

    def __init__(self, text: str, *, watched: bool = False) -> None:
        super().__init__(text)
        self.watched = watched


class HubAway(HubError):
    """There is no connection to the hub; nothing was sent. Try again later."""


class HubLost(HubError):
    """The connection broke before the hub answered: what was asked may have been done, or not. Ask
    again."""


class Reject(Exception):
    """Raise in a handler: this message will never succeed; put it in the dead set now."""


class RetryLater(Exception):
    """Raise in a handler: try again after so many seconds, or a timedelta, without spending a
    level."""

    def __init__(self, after: Duration, reason: str = "") -> None:
        after_s = seconds_of(after)
        super().__init__(reason or f"retry after {after_s} s")
        if not 0 <= after_s <= CENTURY_S:
            raise BadTime(
                f"RetryLater(after={after!r}): give seconds from now or a timedelta, not a "
                "negative one, at most a century"
            )
        self.after_ms = int(after_s * 1000)

"""What a hub reports about itself, and why a subscription seems stuck."""

from typing import Final

from msgspec import Struct

from postroad.hub.core import Core
from postroad.hub.subscriber import Client, Subscription, SubscriptionState
from postroad.model.mailbox import Box

BUSIEST: Final = 10


class ClientStatus(Struct, frozen=True):
    """The state of one connection."""

    client: int
    subscriptions: int
    pending: int
    oldest_pending_s: float
    buffered_bytes: int
    paused_s: float


class HubStatus(Struct, frozen=True):
    """The state of a hub. Pending are subscriptions with a message that is not delivered yet."""

    clients: int
    subscriptions: int
    pending: int
    oldest_pending_s: float
    unacked: int
    oldest_unacked_s: float
    takeovers: int
    awaited: int
    """Full mailboxes of which a sender awaits CONTINUE."""
    polls: int
    buffered_bytes: int
    busiest: list[ClientStatus]
    """The connections that hold most back."""


class MailboxExplanation(Struct, frozen=True):
    """Why a mailbox's messages are delivered, or are not."""

    box: str
    state: str
    waiting: int
    quota: int
    ttl_s: int
    over_quota: bool
    text: str


def hub_status(core: Core) -> HubStatus:
    """Count what the hub is doing now."""
    clients = [_client(core, client) for client in core.clients.values()]
    busy = sorted(clients, key=lambda each: (each.buffered_bytes, each.pending), reverse=True)
    oldest = next(iter(core.unacked), None)
    return HubStatus(
        clients=len(clients),
        subscriptions=len(core.subs),
        pending=sum(each.pending for each in clients),
        oldest_pending_s=max((each.oldest_pending_s for each in clients), default=0.0),
        unacked=len(core.unacked),
        oldest_unacked_s=_age(core, oldest.since if oldest is not None else None),
        takeovers=core.takeovers,
        awaited=len(core.watchers),
        polls=sum(map(len, core.waiters.values())),
        buffered_bytes=sum(each.buffered_bytes for each in clients),
        busiest=[each for each in busy[:BUSIEST] if each.buffered_bytes or each.pending],
    )


def _client(core: Core, client: Client) -> ClientStatus:
    return ClientStatus(
        client=client.number,
        subscriptions=len(client.subs),
        pending=len(client.ready),
        oldest_pending_s=_age(core, next(iter(client.ready.values()), None)),
        buffered_bytes=client.link.buffered(),
        paused_s=_age(core, client.paused_since),
    )


def _age(core: Core, since_s: float | None) -> float:
    return 0.0 if since_s is None else round(core.now_s() - since_s, 3)


def explain(core: Core, name: str, box: Box | None) -> MailboxExplanation:
    """Explain why a mailbox's messages are delivered, or are not."""
    if box is None:
        text = "there is no such mailbox"
        return MailboxExplanation(name, "unknown", 0, 0, 0, over_quota=False, text=text)
    sub = core.subs.get(name)
    state, text = ("no subscriber", "nobody is subscribed") if sub is None else _why(core, sub, box)
    count = f"{box.waiting} of {box.quota} messages wait"
    over = "; over its quota: senders are refused until it is empty" if box.over else ""
    return mailbox_explanation(box, state, f"{count}; {text}{over}")


def mailbox_explanation(box: Box, state: str, text: str) -> MailboxExplanation:
    """What is known about a mailbox, with a state in words."""
    ttl_s = box.ttl_ms // 1000
    return MailboxExplanation(box.name, state, box.waiting, box.quota, ttl_s, box.over, text)


def _why(core: Core, sub: Subscription, box: Box) -> tuple[str, str]:
    client, who = sub.client, f"client {sub.client.number}"
    if sub.state is SubscriptionState.waiting:
        since_s = _age(core, sub.since)
        return sub.state, f"{who} has message {sub.delivered} since {since_s:.1f} s, without an ack"
    if sub.state is SubscriptionState.taking:
        return sub.state, f"the ack of message {-sub.delivered} is being stored"
    if sub.name in client.ready:
        place = list(client.ready).index(sub.name)
        if client.paused_since is not None:
            paused_s = _age(core, client.paused_since)
            return "paused", f"{who} takes nothing since {paused_s:.1f} s; {place} are before it"
        return "pending", f"{place} mailboxes of {who} are before it"
    if box.waiting and client.reading:
        return "reading", f"its head is being read for {who}"
    return sub.state, f"{who} is subscribed and has everything"

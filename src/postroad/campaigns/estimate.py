"""Estimates what a campaign costs and how long it takes, by rendering every message."""

from collections import Counter

from msgspec import Struct

from postroad.campaigns.rendering import Renderer
from postroad.campaigns.suppressed import SuppressedRecipient, SuppressedTally
from postroad.model.campaign import Campaign
from postroad.model.credential import CredentialSpec
from postroad.model.pace import read_limit
from postroad.ports.campaigns import CampaignRecords
from postroad.ports.channel import Channel
from postroad.ports.suppressions import SuppressionLists

PAGE = 1_000
SHOWN = 100


class InvalidRecipient(Struct, frozen=True):
    """A recipient that would not be sent to."""

    n: int
    recipient: str
    reason: str


class Estimate(Struct, frozen=True):
    """The estimate of a start. `seconds` is at the allowed rate; 0 when nothing limits it."""

    recipients: int
    invalid: int
    invalid_rows: tuple[InvalidRecipient, ...]
    segments: int
    encodings: dict[str, int]
    longest_segments: int
    cost: float
    seconds: float
    suppressed: int = 0
    """Who is on a suppression list, and is not sent to; these are not among the recipients."""
    suppressed_rows: tuple[SuppressedRecipient, ...] = ()
    """The first hundred of them."""


async def estimate(
    store: CampaignRecords,
    lists: SuppressionLists,
    campaign: Campaign,
    channel: Channel,
    spec: CredentialSpec,
) -> Estimate:
    """Render the message of every unsent recipient, and count."""
    renderer = Renderer(campaign, channel)
    suppressed = SuppressedTally(lists, campaign.tenant)
    wrong, count, total, longest, after = list[InvalidRecipient](), 0, 0, 0, 0
    encodings: Counter[str] = Counter()
    invalid = 0
    while rows := await store.rows(campaign.id, after, PAGE, unsent=True):
        after = rows[-1].n
        kept_back = await suppressed.look([row.n for row in rows], [row.recipient for row in rows])
        for row in rows:
            if row.recipient in kept_back:
                continue
            message = renderer.render_or_problem(row)
            why = message.problem or too_long(message.cost, spec.segments_max)
            if why:
                invalid += 1
                wrong += [InvalidRecipient(row.n, row.recipient, why)] if len(wrong) < SHOWN else []
                continue
            count += 1
            total += message.cost
            longest = max(longest, message.cost)
            encodings[message.encoding] += 1
    return Estimate(
        count,
        invalid,
        tuple(wrong),
        total,
        dict(encodings),
        longest,
        round(total * spec.price, 4),
        seconds_of(total, spec.rate, spec.segments_max),
        suppressed.count,
        tuple(suppressed.shown),
    )


def too_long(cost: int, most: int) -> str:
    """Say why a message of that cost is not sent; empty when it may be."""
    return f"{cost} segments, but the credential allows {most}" if cost > most else ""


def seconds_of(total: int, rate: str, cost: int) -> float:
    """Seconds that so many segments take at a rate."""
    if not rate:
        return 0.0
    limit = read_limit(rate, cost)
    spaced = total * limit.spacing_us / 1e6
    counted = [(total // one.most) * one.length_us / 1e6 for one in limit.counted]
    return max(spaced, *counted, 0.0)


class ResultPace:
    """Measures how fast running campaigns get results, over at least a second."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[float, int, float]] = {}

    def of(self, campaign: Campaign, now_s: float) -> float:
        """Results a second since the last call; the last figure if that was under a second ago."""
        counts = campaign.counts
        results = counts.sent + counts.failed + counts.uncertain
        at_s, before, rate = self._seen.get(campaign.id, (now_s, results, 0.0))
        if campaign.state != "running":
            self._seen.pop(campaign.id, None)
            return 0.0
        if now_s - at_s >= 1.0:
            rate = (results - before) / (now_s - at_s)
            at_s, before = now_s, results
        self._seen[campaign.id] = (at_s, before, rate)
        return rate

"""Queue blocks: how they grow, what they obey, and what they never mix."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from postroad.model.block import (
    QUOTA,
    UNREACHABLE_QUEUE,
    Backoff,
    Block,
    BlockKind,
    disabled,
    queue_block,
)
from postroad.model.outcome import Outcome, quota, unreachable
from postroad.model.states import NEVER
from tests.model.given_values import HOUR_MS, NOW_MS, blocks, draws, waits

MINUTE_MS = 60_000
BACKOFFS: Final = {BlockKind.quota: QUOTA, BlockKind.unreachable: UNREACHABLE_QUEUE}
OUTCOMES: Final = {BlockKind.quota: quota("429"), BlockKind.unreachable: unreachable("refused")}
kinds = st.sampled_from(list(OUTCOMES))


def row(kind: BlockKind, count: int) -> list[int]:
    """The waits of so many blocks, each sent for when the one before was over."""
    block, now_ms, waited = None, NOW_MS, list[int]()
    for _ in range(count):
        block = queue_block(block, OUTCOMES[kind], now_ms, 0.5)
        waited.append(block.until_ms - now_ms)
        now_ms = block.until_ms
    return waited


def test_quota_grows_by_half_up_to_three_hours() -> None:
    waited = row(BlockKind.quota, 30)
    assert waited[:4] == [180_000, 270_000, 405_000, 607_500]
    assert waited[-1] == 3 * HOUR_MS


def test_an_unreachable_queue_grows_by_half_up_to_a_quarter_of_an_hour() -> None:
    waited = row(BlockKind.unreachable, 30)
    assert waited[:4] == [30_000, 45_000, 67_500, 101_250]
    assert waited[-1] == 15 * MINUTE_MS


@given(kinds, st.integers(1, 10**6), draws)
def test_a_wait_is_within_its_jitter_however_long_the_row(
    kind: BlockKind, streak: int, draw: float
) -> None:
    backoff: Backoff = BACKOFFS[kind]
    wait_ms = backoff.wait_ms(streak, draw)
    assert 0.75 * backoff.first_ms - 1 <= wait_ms <= 1.25 * backoff.cap_ms


@given(waits, draws)
def test_retry_after_is_a_floor(after_ms: int, draw: float) -> None:
    block = queue_block(None, quota("429", after_ms=after_ms), NOW_MS, draw)
    own = queue_block(None, quota("429"), NOW_MS, draw)
    assert block.until_ms == max(own.until_ms, NOW_MS + after_ms)


@given(kinds, draws)
def test_the_first_of_its_kind_begins_a_spell(kind: BlockKind, draw: float) -> None:
    block = queue_block(None, OUTCOMES[kind], NOW_MS, draw)
    assert (block.kind, block.streak, block.since_ms) == (kind, 1, NOW_MS)
    assert block.reason == OUTCOMES[kind].error


@given(blocks.filter(lambda block: block.until_ms <= NOW_MS), draws)
def test_the_next_of_its_kind_goes_on_with_the_spell(old: Block, draw: float) -> None:
    block = queue_block(old, OUTCOMES[old.kind], NOW_MS, draw)
    assert (block.streak, block.since_ms) == (old.streak + 1, old.since_ms)


@given(blocks, draws)
def test_kinds_do_not_mix(old: Block, draw: float) -> None:
    other = next(kind for kind in OUTCOMES if kind is not old.kind)
    block = queue_block(old, OUTCOMES[other], NOW_MS, draw)
    if block != old:  # one that runs for longer stands as it is
        assert (block.kind, block.streak, block.since_ms) == (other, 1, NOW_MS)


@given(blocks.filter(lambda block: block.until_ms > NOW_MS), draws, waits)
def test_what_was_in_flight_does_not_grow_the_block(old: Block, draw: float, after_ms: int) -> None:
    outcome = Outcome(OUTCOMES[old.kind].kind, "again", after_ms=after_ms)
    block = queue_block(old, outcome, NOW_MS, draw)
    assert (block.streak, block.since_ms) == (old.streak, old.since_ms)
    assert block.until_ms == max(old.until_ms, NOW_MS + after_ms)


@given(blocks, kinds, draws)
def test_a_block_never_ends_before_one_that_still_runs(
    old: Block, kind: BlockKind, draw: float
) -> None:
    # "The latest one counts": Retry-After holds though another try of the queue found nobody in.
    block = queue_block(old, OUTCOMES[kind], NOW_MS, draw)
    assert block.until_ms >= old.until_ms


@given(kinds, draws)
def test_a_disabled_queue_stays_disabled_whatever_was_in_flight(
    kind: BlockKind, draw: float
) -> None:
    gone = disabled("410", NOW_MS - 10)
    block = queue_block(gone, OUTCOMES[kind], NOW_MS, draw)
    assert (block.kind, block.until_ms) == (BlockKind.disabled, NEVER)


def test_a_disabled_queue_says_since_when_and_why() -> None:
    assert disabled("410 from shop", NOW_MS) == Block(
        BlockKind.disabled, NEVER, "410 from shop", 1, NOW_MS
    )

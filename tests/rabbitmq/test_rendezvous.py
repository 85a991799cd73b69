"""Shards: one owner each, even shares, and few moves when somebody comes or goes."""

from collections import Counter

from hypothesis import assume, given
from hypothesis import strategies as st

from postroad.stores.rabbitmq.fleet.rendezvous import assign, share_of

SHARDS = 8
names = st.text("abcdef0123456789", min_size=1, max_size=8)
fleets = st.sets(names, min_size=1, max_size=12)
shards = st.integers(1, 32)


@given(shards, fleets)
def test_each_shard_has_exactly_one_owner_who_is_alive(count: int, fleet: set[str]) -> None:
    assigned = assign(count, fleet)
    assert set(assigned) == set(range(count))
    assert set(assigned.values()) <= fleet
    shares = [share_of(worker, count, fleet) for worker in fleet]
    assert sum(map(len, shares)) == count
    assert frozenset().union(*shares) == set(range(count))


@given(shards, fleets)
def test_everybody_has_an_even_share(count: int, fleet: set[str]) -> None:
    load = Counter(assign(count, fleet).values())
    even = count // len(fleet)
    assert {load[worker] for worker in fleet} <= {even, even + 1}


@given(shards, fleets, st.randoms(use_true_random=False))
def test_whoever_asks_gets_the_same_answer(count: int, fleet: set[str], dice: object) -> None:
    mixed = sorted(fleet)
    dice.shuffle(mixed)  # type: ignore[attr-defined]
    assert assign(count, mixed) == assign(count, sorted(fleet))


@given(fleets, names)
def test_a_new_worker_gets_its_share(fleet: set[str], newcomer: str) -> None:
    assume(newcomer not in fleet)
    assert len(share_of(newcomer, SHARDS, fleet | {newcomer})) >= SHARDS // (len(fleet) + 1)


@given(fleets, names)
def test_whoever_stays_keeps_most_of_what_it_had(fleet: set[str], newcomer: str) -> None:
    assume(newcomer not in fleet)
    before, after = assign(SHARDS, fleet), assign(SHARDS, fleet | {newcomer})
    moved = [shard for shard in before if before[shard] != after[shard]]
    assert len(moved) <= SHARDS // 2 + 1


def test_moves_are_close_to_the_fewest_possible() -> None:
    """Over many fleets: what joins and leaves cost, by what the newcomer must get at least."""
    moves = least = 0
    for seed in range(200):
        for size in (1, 2, 3, 4, 7):
            fleet = [f"{seed}-{n}" for n in range(size + 1)]
            before, after = assign(SHARDS, fleet[:-1]), assign(SHARDS, fleet)
            moves += sum(before[shard] != after[shard] for shard in before)
            least += sum(worker == fleet[-1] for worker in after.values())
    assert moves <= 1.4 * least


def test_nobody_alive_is_nobodys_shard() -> None:
    assert assign(SHARDS, []) == {}

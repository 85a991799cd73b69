"""Assigns shards to workers: a pure function of who is alive, the same in every process."""

from collections.abc import Collection
from hashlib import blake2b


def assign(shards: int, workers: Collection[str]) -> dict[int, str]:
    """The worker of each shard. The highest rank goes first, and no worker gets more than its even
    share.

    Plain rendezvous hashing leaves one worker of four without any of 8 shards in 10 % of fleets.
    The even share costs 2.7 moves instead of 2 when a fourth worker joins.
    """
    if not workers:
        return {}
    least, extra = divmod(shards, len(workers))
    load = dict.fromkeys(workers, 0)
    assigned: dict[int, str] = {}
    pairs = [(_rank(shard, worker), shard, worker) for worker in load for shard in range(shards)]
    for _, shard, worker in sorted(pairs, reverse=True):
        if shard in assigned or load[worker] >= least + (extra > 0):
            continue
        extra -= load[worker] == least
        load[worker] += 1
        assigned[shard] = worker
    return assigned


def share_of(me: str, shards: int, workers: Collection[str]) -> frozenset[int]:
    """The shards of one worker."""
    return frozenset(shard for shard, worker in assign(shards, workers).items() if worker == me)


def _rank(shard: int, worker: str) -> bytes:
    return blake2b(f"{shard}/{worker}".encode(), digest_size=8).digest()

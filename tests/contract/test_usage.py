"""How much a tenant has is counted, no further than it matters."""

from collections import Counter

from postroad.ports.usage import CountedKind
from tests.contract.bench import Bench


async def test_queues_and_lanes_of_a_tenant_are_counted_up_to_a_number(bench: Bench) -> None:
    for number in range(3):
        await bench.queue(f"q{number}", tenant="a", server="one")
    await bench.queue("other", tenant="b")
    assert await bench.store.tenant_has(CountedKind.queues, "a", 10) == 3
    assert await bench.store.tenant_has(CountedKind.lanes, "a", 10) == 1
    assert await bench.store.tenant_has(CountedKind.queues, "a", 2) == 2
    for kept in (CountedKind.mailboxes, CountedKind.campaigns, CountedKind.imports):
        assert await bench.store.tenant_has(kept, "a", 10) == 0


async def test_stored_messages_are_counted_by_tenant_in_slices(bench: Bench) -> None:
    queues = {tenant: await bench.queue("q", tenant=tenant) for tenant in ("a", "b")}
    for tenant in ("a", "b", "a", "a", "b"):
        await bench.send(queues[tenant], b"12345")
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    after, slices = 0, 0
    while True:
        part = await bench.store.stored(after, 2)
        for tenant, count, size in part.found:
            counts[tenant] += count
            sizes[tenant] += size
        after, slices = part.last, slices + 1
        if not after:
            break
    assert (counts, slices) == ({"a": 3, "b": 2}, 3)
    assert sizes == {"a": 15, "b": 10}

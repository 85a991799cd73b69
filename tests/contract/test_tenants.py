"""Tenants are created, or made by their use; what is set for one is its own."""

from postroad.model.tenant import TenantRow
from postroad.ports.usage import CountedKind
from tests.contract.bench import Bench


async def test_a_tenant_is_stored_once_and_found_with_its_limits(bench: Bench) -> None:
    store, row = bench.store, TenantRow("acme", "a customer", 7, {"queues_max": 3})
    assert await store.tenant_find("acme") is None
    assert await store.tenant_add(row)
    assert not await store.tenant_add(TenantRow("acme", "another", 8, {}))
    assert await store.tenant_find("acme") == row
    assert await store.tenants_own(["acme", "other"]) == {"acme": {"queues_max": 3}}


async def test_limits_are_set_and_taken_away_one_by_one(bench: Bench) -> None:
    store = bench.store
    await store.tenant_limit("acme", {"queues_max": 1, "lanes_max": None}, 7)
    await store.tenant_limit("acme", {"messages_max": 2}, 8)
    assert await store.tenant_find("acme") == TenantRow(
        "acme", "", 7, {"queues_max": 1, "messages_max": 2}
    )
    await store.tenant_limit("acme", {"queues_max": None, "messages_max": 5}, 9)
    assert await store.tenants_own(["acme"]) == {"acme": {"messages_max": 5}}


async def test_tenants_are_listed_in_pages_also_those_that_have_no_row(bench: Bench) -> None:
    used = {f"t{number}" for number in range(5)}
    for name in used:
        await bench.queue("q", tenant=name)
    await bench.store.tenant_add(TenantRow("t2", "used and created", 7, {}))
    await bench.store.tenant_add(TenantRow("u", "only created", 7, {}))
    names: list[str] = []
    while page := await bench.store.tenant_page(names[-1] if names else "", 2):
        names += [row.name for row in page]
        assert len(page) <= 2
    assert names == sorted(names)
    assert set(names) - {"default"} == {*used, "u"}
    found = await bench.store.tenant_find("t1")
    assert found == TenantRow("t1", "", None, {})


async def test_what_is_not_finished_is_counted_up_to_a_number(bench: Bench) -> None:
    queue = await bench.queue("q", tenant="a")
    for _ in range(3):
        await bench.send(queue)
    await bench.send(await bench.queue("q", tenant="b"))
    assert await bench.store.tenant_has(CountedKind.waiting, "a", 10) == 3
    assert await bench.store.tenant_has(CountedKind.waiting, "a", 2) == 2
    for kind in CountedKind:
        assert await bench.store.tenant_has(kind, "nobody", 10) == 0

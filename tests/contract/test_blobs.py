"""Contents that are stored once: whose they are, who uses them, and when they go."""

from postroad.model.blobs import UNUSED_MS, BlobUse, blob_name
from postroad.model.entities import Draft
from postroad.model.states import NEVER
from postroad.ports.blobs import Blobs
from postroad.stores.blobs import FRESH_MS
from tests.contract.bench import Bench

PICTURE = b"\x89PNG" * 1_000
NAME = blob_name(PICTURE)
LATER_S = (UNUSED_MS + 1_000) / 1_000


def blobs(bench: Bench) -> Blobs:
    assert isinstance(bench.store, Blobs)
    return bench.store


async def put(bench: Bench, content: bytes = PICTURE, tenant: str = "default") -> str:
    await blobs(bench).blob_put(tenant, blob_name(content), content, bench.now_ms)
    return blob_name(content)


async def swept(bench: Bench) -> list[str]:
    """Sweep to the end; answers what is left."""
    after: int | None = 0
    while after is not None:
        after = await blobs(bench).blob_sweep(after, bench.now_ms - UNUSED_MS, bench.now_ms)
    return [one.id for one in await blobs(bench).blob_page("default", "", 100)]


async def message(bench: Bench, number: int) -> None:
    """A message that waits, with this id."""
    queue = await bench.queue("q")
    draft = Draft(number, queue.id, queue.lanes[0], 0, 0, bench.now_ms, bench.now_ms, NEVER, b"1")
    (accepted,) = await bench.store.accept([draft])
    assert accepted.id == number


async def test_a_content_is_stored_once_and_each_tenants_own(bench: Bench) -> None:
    for tenant in ("default", "default", "other"):
        await put(bench, tenant=tenant)
    assert await blobs(bench).blob_bytes("default") == len(PICTURE)
    assert await blobs(bench).blob_get("other", NAME) == PICTURE
    assert await blobs(bench).blob_get("third", NAME) is None
    assert await blobs(bench).blob_sizes("default", [NAME, "blob_x"]) == {NAME: len(PICTURE)}
    await bench.reopen()
    (one,) = await blobs(bench).blob_page("default", "", 10)
    assert (one.id, one.size) == (NAME, len(PICTURE))
    assert await blobs(bench).blob_page("default", NAME, 10) == []


async def test_what_a_message_uses_is_kept_and_goes_a_week_after_it(bench: Bench) -> None:
    used, unused = await put(bench), await put(bench, b"nobody's")
    await message(bench, 77)
    assert await blobs(bench).blob_use("default", [BlobUse(used, 77)], bench.now_ms)
    await bench.advance(LATER_S)
    assert await swept(bench) == [used]
    assert not await blobs(bench).blob_drop("default", used, bench.now_ms)
    assert await blobs(bench).blob_get("default", unused) is None
    await bench.store.cancel("default", [77])
    assert await swept(bench) == []


async def test_a_use_is_noted_before_its_message_and_forgotten_without_one(bench: Bench) -> None:
    name = await put(bench)
    uses = [BlobUse(name, 5), BlobUse(name, 6)]
    assert await blobs(bench).blob_use("default", uses, bench.now_ms)
    assert not await blobs(bench).blob_drop("default", name, bench.now_ms)
    await bench.advance(FRESH_MS / 1_000 + 1)
    assert await swept(bench) == [name]  # nothing uses it, but that is not a week ago
    assert await blobs(bench).blob_drop("default", name, bench.now_ms)
    assert not await blobs(bench).blob_drop("default", name, bench.now_ms)


async def test_a_content_that_is_put_again_lives_another_week(bench: Bench) -> None:
    name = await put(bench)
    await bench.advance(LATER_S - 10)
    await put(bench)
    await bench.advance(20)
    assert await swept(bench) == [name]
    await bench.advance(LATER_S)
    assert await swept(bench) == []


async def test_a_use_of_a_content_that_was_removed_is_refused(bench: Bench) -> None:
    """Whoever looked at its size before it was removed hears of it when the use is noted."""
    name, other = await put(bench), await put(bench, b"another")
    assert await blobs(bench).blob_drop("default", name, bench.now_ms)
    uses = [BlobUse(name, 5), BlobUse(other, 5)]
    assert not await blobs(bench).blob_use("default", uses, bench.now_ms)
    assert await blobs(bench).blob_use("default", uses[1:], bench.now_ms)


async def test_a_holder_lets_go_what_it_does_not_keep(bench: Bench) -> None:
    name, other = await put(bench), await put(bench, b"another")
    uses = [BlobUse(name, -5), BlobUse(other, -5)]
    assert await blobs(bench).blob_use("default", uses, bench.now_ms)
    await blobs(bench).blob_release("default", -5, [other])
    assert await blobs(bench).blob_drop("default", name, bench.now_ms)
    assert not await blobs(bench).blob_drop("default", other, bench.now_ms)

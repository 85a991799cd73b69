"""Nothing comes back early, and nothing short waits behind something long. How late it comes is
for `make proof ITEM=rabbit-times`, on a quiet machine."""

from pathlib import Path

from tests.rabbitmq.timing import delays, retries

GENEROUS_MS = 30_000


async def test_each_retry_comes_back_after_its_wait_and_never_before(
    dsn: str, tmp_path: Path
) -> None:
    backs = await retries(dsn, tmp_path, 3)
    assert [back.wait_ms for back in backs] == [250, 500, 1_000]
    assert all(0 <= back.late_ms < GENEROUS_MS for back in backs)


async def test_a_short_wait_never_stands_behind_a_long_one(dsn: str, tmp_path: Path) -> None:
    waits_ms = [90_000] * 20 + [300] * 20 + [1_900] * 5
    backs = await delays(dsn, tmp_path, waits_ms, count=25)
    assert sorted(back.wait_ms for back in backs) == [300] * 20 + [1_900] * 5
    assert all(0 <= back.late_ms < GENEROUS_MS for back in backs)

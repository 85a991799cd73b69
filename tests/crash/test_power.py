"""The power goes: every message with a receipt is there, and what may start only once is noted."""

import random
from pathlib import Path

from tests.crash.disk_process import Op
from tests.crash.power import Disk, power_cuts

IMAGES = 60


def test_what_was_accepted_survives_a_power_loss() -> None:
    report = power_cuts(IMAGES, seconds=60)
    assert report.breaches == []
    assert report.images == IMAGES
    assert report.dirty > IMAGES / 2
    assert report.receipts > IMAGES * 10


def test_an_image_holds_what_was_synced_and_no_more_for_certain(tmp_path: Path) -> None:
    disk = Disk()
    disk.take(Op("write", "a", 0, b"x" * 2_048))
    disk.take(Op("sync", "a"))
    disk.take(Op("write", "a", 2_048, b"y" * 2_048))
    seen: set[bytes] = set()
    for seed in range(100):
        disk.image(tmp_path, random.Random(seed))
        image = (tmp_path / "a").read_bytes()
        assert image.startswith(b"x" * 2_048)
        seen.add(image[2_048:])
    assert {b"", b"y" * 2_048, b"y" * 512} <= seen

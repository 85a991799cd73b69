"""first-job: from an empty folder to the first job, by typing what README says."""

import sys
import tempfile
from pathlib import Path

from proof.shape import Reached
from scripts import release
from tests.packages.installing import Stranger, first_job

MINUTE_S = 60.0


def prove(_seconds: float) -> Reached:
    """How often it would fit into a minute."""
    with tempfile.TemporaryDirectory() as place:
        dist, folder = Path(place) / "dist", Path(place) / "empty"
        folder.mkdir()
        _ = release.build(dist, release.epoch())
        said, took_s = first_job(Stranger(folder, dist), dist)
    sys.stdout.write(f"{said}the first job was done after {took_s:.1f} s\n")
    broken = 0 if "welcome, Ada!" in said else 1
    return Reached(floor=1.0, reached=round(MINUTE_S / took_s, 2), broken=broken)

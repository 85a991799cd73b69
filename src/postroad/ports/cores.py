"""How many processes can compute at once here."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")
"""What a container may use: microseconds of CPU, or "max", in so many microseconds."""


def cores(quota: Path = QUOTA) -> int:
    """The cores that this process may use: those of its affinity, within its container's quota."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    allowed = float(usable or 1)
    with suppress(OSError, ValueError):  # no container, or one without a quota
        used_us, period_us = quota.read_text().split()
        allowed = min(allowed, int(used_us) / int(period_us))
    return max(1, round(allowed))

"""The result of one check of `postroad doctor`."""

from msgspec import Struct


class Finding(Struct, frozen=True):
    """The result of one check: `ok`, `warn` or `fail`, and how to fix it."""

    part: str
    state: str
    found: str
    mend: str = ""

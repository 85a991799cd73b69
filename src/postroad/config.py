"""One frozen settings object."""

from msgspec import Struct

from postroad.model.limits import Limits


class Settings(Struct, frozen=True):
    """What can be set about a road; every one is in docs/reference/settings.md."""

    dsn: str = "sqlite:///road.db"
    body_bytes_max: int = 1 << 20
    log_level: str = "info"
    limits: Limits = Limits()

"""Structured logs, as everything that has something to say sees them."""

from typing import Protocol


class Log(Protocol):
    """One event a call, with its facts. Secrets are never among them."""

    def is_enabled_for(self, level: int, /) -> bool:
        """Whether events of this level (`logging.DEBUG`…) are written."""

    def debug(self, event: str, /, **facts: object) -> None:
        """What only its author asks for."""

    def info(self, event: str, /, **facts: object) -> None:
        """What happened."""

    def warning(self, event: str, /, **facts: object) -> None:
        """What somebody may want to look at. `exc_info` may be an exception."""

    def error(self, event: str, /, **facts: object) -> None:
        """What should not have happened. `exc_info` may be an exception."""

    def exception(self, event: str, /, **facts: object) -> None:
        """An error, with the exception that is being handled."""

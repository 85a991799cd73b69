"""The interface of structured logs."""

from typing import Protocol


class Log(Protocol):
    """Writes one event per call, with its facts. Secrets are never among them."""

    def is_enabled_for(self, level: int, /) -> bool:
        """Whether events of this level (`logging.DEBUG`…) are written."""

    def debug(self, event: str, /, **facts: object) -> None:
        """Log details for developers."""

    def info(self, event: str, /, **facts: object) -> None:
        """Log what happened."""

    def warning(self, event: str, /, **facts: object) -> None:
        """Log what somebody may want to look at. `exc_info` may be an exception."""

    def error(self, event: str, /, **facts: object) -> None:
        """Log what should not have happened. `exc_info` may be an exception."""

    def exception(self, event: str, /, **facts: object) -> None:
        """Log an error with the exception that is being handled."""

    def store_failed(self, doing: str, error: Exception, /) -> None:
        """Log that something could not be done because the store is away: a line when it goes away,
        one a minute, and one when it is back, however often callers fail meanwhile."""

    def store_works(self, doing: str, /) -> None:
        """Tell that something could be done; if it had failed, the store is back."""

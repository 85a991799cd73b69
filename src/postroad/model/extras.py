"""Parts that are installed with an extra, as in `pip install 'postroad[server]'`."""

from types import TracebackType
from typing import Final

from postroad.model.errors import MissingExtra

EXTRAS: Final = {
    "asyncpg": "postgres",
    "dns": "mail",
    "h11": "server",
    "jinja2": "server",
    "jsonschema_rs": "events",
    "pamqp": "rabbitmq",
    "picows": "server",
    "prometheus_client": "server",
    "re2": "mail",
    "rich": "all",
    "uvicorn": "server",
}


class Needing:
    """`with Needing("a hub"):` around imports: a missing library becomes an error that names the
    extra that brings it: `extra`, where more than one does."""

    def __init__(self, what: str, extra: str = "") -> None:
        self._what = what
        self._extra = extra

    def __enter__(self) -> None:
        """Check nothing before the import."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not isinstance(error, ModuleNotFoundError):
            return
        library = (error.name or "").partition(".")[0]
        if library in EXTRAS:
            raise MissingExtra(
                f"{self._what} needs {library}, which is not installed: "
                f"pip install 'postroad[{self._extra or EXTRAS[library]}]'"
            ) from None

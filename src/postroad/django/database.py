"""Which database of Django a road shares, if any."""

from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.db import connections

PORT: Final = 5432
HERE: Final = {"": "127.0.0.1", "localhost": "127.0.0.1", "::1": "127.0.0.1"}


def own_dsn(alias: str) -> str:
    """The road's address in Django's own database, which is where it lies unless told otherwise."""
    found = connections[alias]
    said = found.settings_dict
    if found.vendor == "sqlite":
        raise ImproperlyConfigured(
            'TASKS: give OPTIONS a "dsn", as in "sqlite:///tasks.db": Django\'s own SQLite file '
            "cannot be the road's, since both would lock it"
        )
    user = quote(said.get("USER") or "", safe="")
    password = f":{quote(said['PASSWORD'], safe='')}" if said.get("PASSWORD") else ""
    where = f"{said.get('HOST') or 'localhost'}:{said.get('PORT') or PORT}"
    return f"postgresql://{user}{password}@{where}/{quote(said['NAME'], safe='')}"


def check_vendor(alias: str) -> None:
    """Refuse a database that Postroad does not know."""
    vendor = connections[alias].vendor
    if vendor not in ("postgresql", "sqlite"):
        raise ImproperlyConfigured(
            f"postroad.django.Backend works beside PostgreSQL and SQLite, and DATABASES[{alias!r}] "
            f'is {vendor}: name another one by OPTIONS["database"]'
        )


def transaction_of(alias: str, dsn: str) -> Any:
    """Django's own connection, if it is inside a transaction in the road's database; else None."""
    django = connections[alias]
    if not django.in_atomic_block or django.vendor != "postgresql":
        return None
    if not dsn.startswith(("postgresql:", "postgres:")) or _place(django) != _named(dsn):
        return None
    django.ensure_connection()
    return django.connection


def _place(django: Any) -> tuple[str, int, str]:
    said = django.settings_dict
    host = said.get("HOST") or ""
    return HERE.get(host, host), int(said.get("PORT") or PORT), said["NAME"]


def _named(dsn: str) -> tuple[str, int, str]:
    parts = urlsplit(dsn)
    host = parts.hostname or ""
    return HERE.get(host, host), parts.port or PORT, unquote(parts.path.lstrip("/"))

"""Which database of Django a road shares, if any."""

from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.db import connections

PORT: Final = 5432
CARRIED: Final = frozenset(
    ("passfile", "sslcert", "sslcrl", "sslkey", "sslmode", "sslpassword", "sslrootcert")
)
"""Options of Django's connection that the road's needs too."""
OWN: Final = frozenset(
    [
        "application_name",
        "client_encoding",
        "connect_timeout",
        "isolation_level",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "pool",
        "server_side_binding",
    ]
)
"""Those that say nothing about where the database is and who may enter."""
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
    host, port = said.get("HOST") or "", str(said.get("PORT") or PORT)
    query = _carried(alias, said.get("OPTIONS") or {})
    if not host or host.startswith("/"):  # a socket
        query |= {"host": host, "port": port} if host else {"port": port}
        where = ""
    else:
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    user = quote(said.get("USER") or "", safe="")
    password = f":{quote(said['PASSWORD'], safe='')}" if said.get("PASSWORD") else ""
    entry = f"{user}{password}@" if user else ""
    more = f"?{urlencode(query)}" if query else ""
    return f"postgresql://{entry}{where}/{quote(said['NAME'], safe='')}{more}"


def _carried(alias: str, options: dict[str, Any]) -> dict[str, str]:
    if unknown := options.keys() - CARRIED - OWN:
        raise ImproperlyConfigured(
            f'TASKS: give OPTIONS a "dsn": DATABASES[{alias!r}] has the options '
            f"{', '.join(sorted(unknown))}, which the road cannot take from there"
        )
    return {name: str(options[name]) for name in sorted(options.keys() & CARRIED)}


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
    host = host if host.startswith("/") else host.lower()
    return HERE.get(host, host), int(said.get("PORT") or PORT), said["NAME"]


def _named(dsn: str) -> tuple[str, int, str]:
    parts = urlsplit(dsn)
    query = dict(parse_qsl(parts.query))
    host = parts.hostname or query.get("host", "")
    port = parts.port or int(query.get("port", PORT))
    return HERE.get(host, host), port, unquote(parts.path.lstrip("/"))

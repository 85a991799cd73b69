"""Turns errors of PostgreSQL into ours, which say what to do."""

from typing import Final

import asyncpg

from postroad.model.errors import (
    AccessRefused,
    BadDsn,
    BadInput,
    CopyUnfinished,
    DiskFull,
    NoSuchDatabase,
    PostroadError,
    QueueGone,
    ReadOnlyStore,
    SchemaTooOld,
    StoreError,
    StoreUnavailable,
)
from postroad.model.unused import GONE

DRIVER_ERRORS: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)
"""All that a statement or a connection raises. A connection that the server ends while something is
sent raises `InternalClientError`, which is neither of the other two."""
LOST: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TooManyConnectionsError,
    asyncpg.QueryCanceledError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
"""After these the connection is lost, and whether the statement was done is not known."""
AGAIN: Final = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
"""The statement was certainly not done, and is likely to succeed at once."""
MIGRATE: Final = "run `postroad migrate` with this release first"

UNFINISHED: Final = (
    "{where} is a road that is being copied, and the copy is not complete: run the same `postroad "
    "store copy` again, it goes on where it was; or drop the schema `postroad` there"
)
BEING_COPIED: Final = "PR001"
"""The SQLSTATE that triggers raise while a road is being copied (`copy_begin`)."""

QUEUE_GONE: Final = "PR002"
"""The SQLSTATE that functions raise for a queue that was deleted."""


def is_lost(error: BaseException) -> bool:
    """Whether the connection is of no use any more. (A wrong value for a statement is an
    InterfaceError too, but nothing was sent.)"""
    broken = isinstance(error, asyncpg.InterfaceError) and not isinstance(error, asyncpg.DataError)
    return broken or isinstance(error, LOST)


NAMES: Final[list[tuple[tuple[type[Exception], ...], type[PostroadError], str]]] = [
    (
        (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError),
        AccessRefused,
        "{where} refuses this login ({error}): check user and password",
    ),
    (
        (asyncpg.InsufficientPrivilegeError,),
        AccessRefused,
        "{where}: {error}; grant this user CREATE on the database, and all in schema `postroad`",
    ),
    (
        (asyncpg.InvalidCatalogNameError,),
        NoSuchDatabase,
        "{where} does not exist: create it (createdb), or name another",
    ),
    (
        (asyncpg.DiskFullError,),
        DiskFull,
        "{where} has no space left: free some; nothing was half-written",
    ),
    (
        (asyncpg.ReadOnlySQLTransactionError,),
        ReadOnlyStore,
        "{where} takes no writes: it is a standby; name its primary",
    ),
    (
        (asyncpg.UndefinedFunctionError, asyncpg.UndefinedTableError),
        SchemaTooOld,
        "{where} lacks what this release needs ({error}): " + MIGRATE,
    ),
    (
        (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError),
        BadInput,
        "PostgreSQL cannot store a text with a zero character: remove it",
    ),
    ((asyncpg.ForeignKeyViolationError,), QueueGone, GONE),  # only webhooks' settings have one
    ((asyncpg.ClientConfigurationError,), BadDsn, "{where}: {error}"),
]


def named(error: Exception, where: str) -> PostroadError:
    """Our error for one of PostgreSQL's. `where` names the database, without its password."""
    if isinstance(error, PostroadError):
        return error
    if getattr(error, "sqlstate", None) == BEING_COPIED:
        return CopyUnfinished(UNFINISHED.format(where=where))
    if getattr(error, "sqlstate", None) == QUEUE_GONE:
        return QueueGone(GONE)
    for kinds, ours, text in NAMES:
        if isinstance(error, kinds):
            return ours(text.format(where=where, error=error))
    if is_lost(error):
        return StoreUnavailable(f"{where} does not answer ({type(error).__name__}: {error})")
    return StoreError(f"{where}: {type(error).__name__}: {error}")

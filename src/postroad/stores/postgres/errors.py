"""PostgreSQL's errors in our words."""

from typing import Final

import asyncpg

from postroad.model.errors import (
    AccessRefused,
    BadDsn,
    BadInput,
    DiskFull,
    NoSuchDatabase,
    PostroadError,
    ReadOnlyStore,
    SchemaTooOld,
    StoreError,
    StoreUnavailable,
)

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
"""After these the connection is of no use, and whether the statement was done is not known."""
AGAIN: Final = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
"""Certainly not done, and likely to go well at once."""
MIGRATE: Final = "run `postroad migrate` with this release first"


def is_lost(error: BaseException) -> bool:
    """Whether the connection is of no use any more. (A wrong value for a statement is an
    InterfaceError too, but nothing was sent.)"""
    broken = isinstance(error, asyncpg.InterfaceError) and not isinstance(error, asyncpg.DataError)
    return broken or isinstance(error, LOST)


def named(error: Exception, where: str) -> PostroadError:  # noqa: PLR0911 - a table
    """What a user can do about it. `where` names the database, without its password."""
    match error:
        case PostroadError():
            return error
        case asyncpg.InvalidPasswordError() | asyncpg.InvalidAuthorizationSpecificationError():
            return AccessRefused(f"{where} refuses this login ({error}): check user and password")
        case asyncpg.InsufficientPrivilegeError():
            return AccessRefused(
                f"{where}: {error}; grant this user CREATE on the database, or let one that may "
                "run `postroad migrate` and grant it the schema `postroad`"
            )
        case asyncpg.InvalidCatalogNameError():
            return NoSuchDatabase(f"{where} does not exist: create it (createdb), or name another")
        case asyncpg.DiskFullError():
            return DiskFull(f"{where} has no space left: free some; nothing was half-written")
        case asyncpg.ReadOnlySQLTransactionError():
            return ReadOnlyStore(f"{where} takes no writes: it is a standby, name its primary")
        case asyncpg.UndefinedFunctionError() | asyncpg.UndefinedTableError():
            return SchemaTooOld(f"{where} lacks what this release needs ({error}): {MIGRATE}")
        case asyncpg.CharacterNotInRepertoireError() | asyncpg.UntranslatableCharacterError():
            return BadInput("PostgreSQL cannot store a text with a zero character: remove it")
        case asyncpg.ClientConfigurationError():
            return BadDsn(f"{where}: {error}")
        case _ if is_lost(error):
            return StoreUnavailable(f"{where} does not answer ({type(error).__name__}: {error})")
        case _:
            return StoreError(f"{where}: {type(error).__name__}: {error}")

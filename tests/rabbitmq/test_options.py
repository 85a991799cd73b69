"""What a RabbitMQ address says, and what is wrong with one."""

from pathlib import Path

import pytest

from postroad.model.errors import BadDsn
from postroad.ports.clock import SystemClock
from postroad.stores.naming import file_of, shown
from postroad.stores.opening import open_store
from postroad.stores.postgres.store import PostgresStore
from postroad.stores.rabbitmq.options import STATE, read_options
from postroad.stores.rabbitmq.store import RabbitStore
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.window_socket import window_of


def test_an_address_alone_has_a_state_file_in_the_working_directory() -> None:
    options = read_options("amqp://me:secret@host/road")
    assert (options.state, options.prefix, options.shards) == (STATE, "postroad", 8)
    store = open_store("amqp://host", SystemClock())
    assert isinstance(store, RabbitStore)
    assert isinstance(store.state, SqliteStore)
    assert store.state.path == Path("postroad-state.db")


def test_the_state_store_can_be_postgresql() -> None:
    store = open_store("amqp://host?state=postgresql://me@db/road", SystemClock())
    assert isinstance(store, RabbitStore)
    assert isinstance(store.state, PostgresStore)


def test_what_an_address_says_is_taken() -> None:
    options = read_options("amqp://h/v?state=sqlite:///a.db&prefix=shop&shards=16&prefetch=64")
    assert (options.prefix, options.shards, options.prefetch) == ("shop", 16, 64)


@pytest.mark.parametrize(
    ("dsn", "said"),
    [
        ("amqp://", "looks like amqp://"),
        ("amqp://h:x/", "malformed"),
        ("amqp://h/?stat=sqlite:///x", "stat= is not understood"),
        ("amqp://h/?state=amqp://h", "sqlite:///FILE or postgresql://"),
        ("amqp://h/?state=sqlite:///:memory:", "name a file"),
        ("amqp://h/?shards=0", "from 1 to 256"),
        ("amqp://h/?shards=7", "power of two"),
        ("amqp://h/?prefetch=many", "from 1 to 65535"),
        ("amqp://h/?prefix=a.b", "letters, digits"),
        ("redis://h", "amqp://"),
    ],
)
def test_a_wrong_address_says_what_is_wrong(dsn: str, said: str) -> None:
    with pytest.raises(BadDsn, match=said):
        open_store(dsn, SystemClock())


@pytest.mark.parametrize(
    "dsn",
    [
        "amqp://me:secret@h/?shards=0",
        "amqp://me:secret/more@h",
        "amqp://h?state=postgres+asyncpg://me:secret@db/road",
        "rabbitmq://me:secret@h",
    ],
)
def test_no_error_shows_a_password(dsn: str) -> None:
    with pytest.raises(BadDsn) as error:
        open_store(dsn, SystemClock())
    assert "secret" not in str(error.value)


def test_a_password_may_have_a_plus() -> None:
    options = read_options("amqp://h?state=postgresql://me:a+b@db/road")
    assert options.state == "postgresql://me:a+b@db/road"


def test_an_address_is_shown_without_its_passwords() -> None:
    dsn = "amqp://me:one@host/road?state=postgresql://you:two@db/road"
    assert shown(dsn) == "amqp://host:5672/road?state=postgresql://you:…@db/road"
    assert shown("amqp://me:one@host?stat=x") == "amqp://…"


def test_a_file_beside_a_broker_is_found_by_those_who_look_for_its_owner() -> None:
    assert file_of("amqp://host?state=sqlite:///folder/state.db") == Path("folder/state.db")
    assert window_of("amqp://host?state=sqlite:///folder/s.db") == Path("folder/s.db.window")
    assert file_of("amqp://host?state=postgresql://db/road") is None

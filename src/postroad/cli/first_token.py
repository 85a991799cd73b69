"""The first access token of a road: in a file of its user alone, and shown on a terminal only."""

from pathlib import Path
from typing import Final

from postroad.api.routes.sessions import login_link
from postroad.app import Postroad
from postroad.cli.printing import SafeConsole, styled
from postroad.model.tokens import EVERY_TENANT
from postroad.stores.naming import file_of
from postroad.stores.privacy import write_private

FILE: Final = "postroad.token"
"""The file's name in the present folder, for a road that is no file."""


async def make_first_token(road: Postroad, said: SafeConsole, url: str) -> None:
    """Make a token and a login link if the road has no token. What a server prints is kept in logs,
    so it prints where the token is, and token and link themselves only to a terminal."""
    if await road.tokens.list(tenant=None):
        return
    own = file_of(road.dsn)
    file = own.with_name(f"{own.name}.token") if own else Path(FILE)
    try:
        write_private(file, b"", own or Path())  # before there is a token that nobody could see
        new = await road.tokens.make("first", tenant=EVERY_TENANT)
        write_private(file, new.secret.encode() + b"\n", own or Path())
    except OSError as error:
        made = "`postroad token make NAME --everywhere` makes one"
        said.print(f"No access token yet: cannot write {file}: {error.strerror}; {made}")
        return
    said.print(f"Access token for --token-file: {file.resolve()}")
    if said.is_terminal:
        said.print(styled("It is ", (new.secret, "bold")))
        login = login_link(await road.sessions.login("first"), url)
        said.print(styled("Log in, once within 15 minutes: ", (login.url, "bold")))

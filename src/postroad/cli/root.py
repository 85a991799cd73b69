"""The root command, with all groups of commands."""

import click

from postroad.cli import (
    attachments,
    audit,
    batch,
    batches,
    campaigns,
    credentials,
    dead,
    demo,
    doctor,
    endpoints,
    events,
    figures,
    keys,
    limits,
    listen,
    mailboxes,
    messages,
    portal,
    privacy,
    queues,
    replays,
    rules,
    serving,
    sessions,
    settings,
    stats,
    stores,
    suppressions,
    tenants,
    timetables,
    tokens,
    top,
    webhooks,
)
from postroad.cli.options import Group
from postroad.cli.printing import out
from postroad.version import VERSION

GROUPS = (
    serving,
    listen,
    demo,
    messages,
    batch,
    batches,
    timetables,
    dead,
    queues,
    limits,
    rules,
    webhooks,
    endpoints,
    events,
    replays,
    top,
    stats,
    figures,
    mailboxes,
    doctor,
    settings,
    campaigns,
    credentials,
    attachments,
    suppressions,
    tenants,
    tokens,
    sessions,
    portal,
    audit,
    privacy,
    keys,
    stores,
)
"""The modules that add commands. A new group of commands is a module with `add(app)`."""


def _version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - how click calls it
    if wanted:
        out().print(f"postroad {VERSION}")
        ctx.exit()


app = Group(
    "postroad",
    "Hand it a message for somebody else's server, and it gets there.\n\n"
    "Exit codes: 0 ok, 1 failed, 2 bad input, 3 unavailable.",
    [
        click.Option(
            ["--version"],
            help="Print the release.",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_version,
        )
    ],
)

for group in GROUPS:
    group.add(app)

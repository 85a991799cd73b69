"""`postroad tenant`: create, list, show, limit and remove tenants."""

from typing import Annotated, Any

from postroad.cli.command import (
    After,
    Commands,
    Invocation,
    Limit,
    Listing,
    SharedOptions,
    Yes,
    add_group,
    confirmed,
)
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import out, when
from postroad.cli.privacy import erased, followed
from postroad.model.errors import BadInput
from postroad.remote.api_request import part

Name = Annotated[str, Argument(help="The tenant's name.")]
NONE = "none"
COUNT_MAX = 10_000
"""The server counts no further."""


class TenantLimitFlags(SharedOptions, frozen=True):
    """Limits of a tenant's own."""

    queues_max: Annotated[str, Option(help="How many queues; `none`: as the settings say.")] = ""
    lanes_max: Annotated[str, Option(help="How many lanes.")] = ""
    messages_max: Annotated[str, Option(help="How many messages that are not finished.")] = ""
    messages_bytes_max: Annotated[str, Option(help="How many bytes these may have.")] = ""
    attachments_bytes_max: Annotated[str, Option(help="How many bytes of attachments.")] = ""
    mailboxes_max: Annotated[str, Option(help="How many mailboxes.")] = ""
    campaigns_max: Annotated[str, Option(help="How many campaigns.")] = ""
    imports_max: Annotated[str, Option(help="How many imports at once.")] = ""
    timetables_max: Annotated[str, Option(help="How many timetables made at run time.")] = ""

    def given(self) -> dict[str, int | None]:
        """Those that were given."""
        texts = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: _number(name, text) for name, text in texts.items() if text}


def _number(name: str, text: str) -> int | None:
    if text == NONE:
        return None
    if not text.isdecimal() or len(text) > 18:
        raise BadInput(f"--{name.replace('_', '-')}: give a number, or `none`")
    return int(text)


def add(app: Group) -> None:
    """Add the commands for tenants."""
    commands: Commands = {
        "create": create,
        "list": list_tenants,
        "show": show,
        "limits": limits,
        "remove": remove,
    }
    text = "Tenants: who has queues, tokens and limits of its own."
    add_group(app, "tenant", "Look after it", text, commands)


def create(
    call: Invocation,
    name: Name,
    description: Annotated[str, Option(help="Who it is, in a few words.")] = "",
    *,
    own: TenantLimitFlags,
) -> None:
    """Create a tenant, with limits of its own where they are given. One that nobody creates is
    made by its first use."""
    data = {"name": name, "description": description, **own.given()}
    said = call.ask("POST", "/v1/tenants", data=data)
    call.reply(said, f"created: {name}")


def list_tenants(call: Listing, limit: Limit = 100, after: After = "") -> None:
    """List all tenants by name, also those that were made by their first use."""
    call.listed(
        "/v1/tenants",
        ("tenant", "created", "own limits~", "description~"),
        lambda one: (
            one["name"],
            _made(one),
            ", ".join(f"{name} {one['limits'][name]:,}" for name in one["own"]),
            one["description"],
        ),
        "no tenants",
        limit=limit,
        after=after,
    )


def show(call: Listing, name: Name) -> None:
    """Show a tenant's limits, and count what it has."""
    said = call.ask("GET", f"/v1/tenants/{part(name)}")
    if call.printed(said):
        return
    counts, most = said["counts"], said["limits"]
    call.facts(
        [
            ("tenant", said["name"]),
            ("created", _made(said)),
            ("description", said["description"]),
            *((each.replace("_", " "), _count(each, count)) for each, count in counts.items()),
            *((each, _limit(said, each, value)) for each, value in most.items()),
        ]
    )


def _count(what: str, count: int) -> str:
    """A count as people read it: all but bytes are counted up to a limit."""
    least = count >= COUNT_MAX and not what.endswith("bytes")
    return f"{count:,} or more" if least else f"{count:,}"


def _made(said: dict[str, Any]) -> str:
    return when(said["made_at_ms"]) if said["made_at_ms"] else "by its first use"


def _limit(said: dict[str, Any], name: str, value: int) -> str:
    return f"{value:,}" + (" (its own)" if name in said["own"] else "")


def limits(call: Invocation, name: Name, *, own: TenantLimitFlags) -> None:
    """Set limits of a tenant's own; those that are not given stay, and `none` takes one away."""
    given = own.given()
    if not given:
        raise BadInput("say which limit, as --queues-max 100; `postroad tenant show` shows them")
    said = call.ask("PUT", f"/v1/tenants/{part(name)}/limits", data=given)
    told = ", ".join(f"{each} {said['limits'][each]:,}" for each in given)
    call.reply(said, f"{name} from now on: {told}")


def remove(
    call: Listing,
    name: Name,
    force: Annotated[bool, Option("--force", help="Also cancel and delete what waits.")] = False,
    yes: Yes = False,
) -> None:
    """Remove a tenant with all that is stored of it. It asks first, then waits for the end; if it
    is interrupted, a running server goes on. Refused while something waits, unless forced."""
    with call.connect() as road:
        path = f"/v1/tenants/{part(name)}"
        counts = road.ask("GET", path)["counts"]
        has = ", ".join(
            f"{what.replace('_', ' ')} {_count(what, count)}" for what, count in counts.items()
        )
        if not yes and not confirmed(f"Remove the tenant {name} for good ({has})?"):
            raise BadInput("nothing was removed: give --yes, or answer the question")
        said = road.ask("DELETE", path, {"force": "true"} if force else {})
        said = followed(road, said)
    if not call.printed(said):
        erased(call, said)
        out().print(f"removed: {name}")

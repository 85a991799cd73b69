"""`postroad rules`: what certain answers of certain servers do."""

from datetime import timedelta
from typing import Annotated, Any

from msgspec import structs

from postroad.cli.command import Commands, Invocation, Listing, SharedOptions, add_group
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import out
from postroad.model.wording import duration_text
from postroad.remote.api_request import part

Name = Annotated[str, Argument(help="The rule's name.")]
Answer = Annotated[str, Argument(help="What a server said: '421 4.7.28 Too many messages'.")]
LaneName = Annotated[str, Option("--lane", help="On this lane, TRANSPORT:SERVER; any if left out.")]
Lanes = Annotated[str, Option(help="A pattern of TRANSPORT:SERVER, as 'smtp:*.google.com'.")]
Do = Annotated[str, Option(help="keep, retry, hold_queue, hold_lane, limit, reject or suppress.")]
Everywhere = Annotated[bool, Option("--everywhere", help="For every tenant.")]


class RuleFlags(SharedOptions, frozen=True):
    """Which answers a rule means, and for how long it does something."""

    status: Annotated[str, Option(help="Its status, with ? for a digit, as 421 or 4??.")] = ""
    code: Annotated[str, Option(help="An enhanced code or a provider's number, as '4.7.*'.")] = ""
    text: Annotated[str, Option(help="A pattern (RE2) that is searched in what it said.")] = ""
    lasts: Annotated[timedelta, Option(help="How long it holds or limits, as 15min.")] = timedelta()
    rate: Annotated[str, Option(help="For limit: no faster than that, as 10/min.")] = ""
    reason: Annotated[str, Option(help="For suppress: hard_bounce, unsubscribed, …")] = ""
    count: Annotated[int, Option(help="How many such answers a lane has to give first.")] = 1
    within: Annotated[timedelta, Option(help="In this time.")] = timedelta(hours=1)
    note: Annotated[str, Option(help="Why it exists, for its readers.")] = ""


def add(app: Group) -> None:
    """Add the commands for answer rules."""
    commands: Commands = {"list": rules, "put": put, "delete": delete, "test": try_answer}
    text = "Answer rules: what certain answers of certain servers do."
    add_group(app, "rules", "Queues and lanes", text, commands, otherwise="list")


def put(
    call: Invocation,
    name: Name,
    lanes: Lanes,
    do: Do,
    *,
    how: RuleFlags,
    everywhere: Everywhere = False,
) -> None:
    """Store a rule; it replaces one of the same name."""
    data = structs.asdict(how)
    spans = {f"{span}_s": data.pop(span).total_seconds() for span in ("lasts", "within")}
    given = {key: value for key, value in data.items() if value}
    data = {"name": name, "lanes": lanes, "do": do, "everywhere": everywhere} | given | spans
    said = call.ask("POST", "/v1/rules", data=data)
    call.reply(said, f"stored: {said['name']} for {said['lanes']}")


def rules(call: Listing) -> None:
    """List the rules in the order in which they are tried, also those that come with Postroad."""
    columns = ("rule", "lanes~", "status", "code", "text~", "does", "tenant")
    call.listed(
        "/v1/rules",
        columns,
        lambda one: (
            one["name"],
            one["lanes"],
            one["status"],
            one["code"],
            one["text"],
            _does(one),
            one["tenant"],
        ),
    )


def _does(one: dict[str, Any]) -> str:
    span = duration_text(round(one["lasts_s"] * 1000)) if one["lasts_s"] else ""
    times = ""
    if one["count"] > 1:
        times = f"from {one['count']} in {duration_text(round(one['within_s'] * 1000))}"
    return " ".join(word for word in (one["do"], one["rate"], span, times) if word)


def try_answer(call: Invocation, answer: Answer, lane: LaneName = "") -> None:
    """Say which rule applies to an answer, and what it would do."""
    said = call.ask("GET", "/v1/rules:test", {"answer": answer, "lane": lane})
    if call.printed(said):
        return
    out().print(f"status {said['status']}, code {said['code']}")
    if not said["matches"]:
        out().print("no rule applies: what the transport says counts")
    for place, one in enumerate(said["matches"]):
        rule = one["rule"]
        applies = "applies" if place == 0 else "would follow"
        out().print(f"{rule['name']} ({rule['lanes']}) {applies}: it {one['does']}")


def delete(call: Invocation, name: Name, *, everywhere: Everywhere = False) -> None:
    """Delete a rule."""
    query = {"everywhere": "true"} if everywhere else {}
    _ = call.ask("DELETE", f"/v1/rules/{part(name)}", query)  # a refusal is raised
    call.reply({"deleted": name}, f"deleted: {name}")

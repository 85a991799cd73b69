"""Templates: rendered with everything escaped, and how figures and times are written."""

from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from postroad.model.facts import COUNTED_MAX
from postroad.model.states import DeadReason, State
from postroad.model.suppression import Reason
from postroad.model.wording import duration_text
from postroad.model.wording import moment as moment_text

ROOM: Final = "postroad.dashboard"
MEDIA: Final = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
THIN: Final = "\u2009"


@cache
def environment() -> Environment:
    """The templates of this package. What a page shows is foreign: all of it is escaped."""
    made = Environment(
        loader=PackageLoader(ROOM),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    shown = (count, upto, moment, dated, took, lasts, cut, words, plural, coded)
    made.filters.update({each.__name__: each for each in shown})
    made.globals["asset"] = asset
    made.globals["states"] = [each.value for each in State]
    made.globals["dead_reasons"] = [each.value for each in DeadReason]
    made.globals["suppression_reasons"] = [each.value for each in Reason]
    return made


def render(template: str, **shown: Any) -> str:
    """Render a template."""
    return environment().get_template(template).render(**shown)


@cache
def assets() -> dict[str, bytes]:
    """The files that pages load, by name."""
    found = files(ROOM).joinpath("static").iterdir()
    return {each.name: each.read_bytes() for each in found if each.name[-3:] in (".js", "css")}


@cache
def release() -> str:
    """A digest of those files: their addresses change when they do."""
    whole = b"".join(name.encode() + data for name, data in sorted(assets().items()))
    return sha256(whole).hexdigest()[:12]


def asset(name: str) -> str:
    """The address of a file that pages load."""
    return f"/static/{release()}/{name}"


def count(number: float | None) -> str:
    """A figure, with thin spaces between thousands."""
    if number is None:
        return "–"
    if not float(number).is_integer():
        return f"{number:,.1f}".replace(",", THIN)
    return f"{int(number):,}".replace(",", THIN)


def upto(number: int, whole: bool = True) -> str:  # noqa: FBT001 - a filter
    """A count of messages that ends at a number, as explanations and lists have them; or that is
    of some only."""
    return f"{count(number)}+" if number >= COUNTED_MAX or not whole else count(number)


def moment(at_ms: int | None) -> Markup:
    """A time: in UTC as it stands here, and as time ago or to go where scripts run."""
    if not at_ms:
        return Markup("–")
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        at.isoformat(timespec="milliseconds").replace("+00:00", "Z"), f"{at:%Y-%m-%d %H:%M:%S} UTC"
    )


def dated(at_ms: int) -> str:
    """A time that is far away, with its date and zone also where scripts run."""
    return moment_text(at_ms)


def took(ms: float | None) -> str:
    """How long something took."""
    if ms is None:
        return "–"
    if ms < 1_000:
        return f"{ms:.0f} ms"
    return f"{ms / 1_000:.1f}".removesuffix(".0") + " s" if ms < 60_000 else duration_text(int(ms))


def lasts(ms: int | None) -> str:
    """A duration in its two largest units."""
    return "–" if ms is None else duration_text(ms)


def cut(text: str, most: int = 80) -> str:
    """The beginning of a long text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def words(name: str) -> str:
    """A name of ours as words: `crash_loop` is "crash loop"."""
    return name.replace("_", " ")


def coded(text: str) -> Markup:
    """A sentence in which `what is typed` stands between backticks."""
    parts = [escape(each) for each in text.split("`")]
    shown = [Markup("<code>{}</code>").format(each) for each in parts[1::2]]
    parts[1::2] = shown
    return Markup("").join(parts)


def pretty(value: object) -> str:
    """JSON on several lines."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def plural(number: int, one: str, many: str = "") -> str:
    """A figure with its noun."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def plural_upto(number: int, one: str) -> str:
    """All messages of a kind, whose count ends at a number, with their noun."""
    return f"all {one}s ({count(number)} or more)" if number >= COUNTED_MAX else plural(number, one)

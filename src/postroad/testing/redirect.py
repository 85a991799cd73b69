"""The road of a program, whose verbs go to the road of a test while that runs."""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from postroad import app
from postroad.sync import Face
from postroad.verbs.grouping import VerbGroup

PARTS: Final = ("_sending", "_controls", "_explainer", "store", "keys")
"""What the verbs of a road itself use."""
VERBS: Final = ("batch", "chain", "publish", "publish_in")


class Redirect:
    """Handlers of a program send by its own road (`await road.send(…)`), which is not open."""

    def __init__(
        self,
        source: app.Postroad,
        to: app.Postroad,
        wait: Callable[[Coroutine[Any, Any, Any]], Any],
    ) -> None:
        self._before: list[tuple[object, dict[str, Any]]] = []
        groups = [f"_{name}" for name, one in vars(app.Postroad).items() if _is_group(one)]
        here = vars(to)
        self._set(source, {name: here[name] for name in (*PARTS, *VERBS, *groups)})
        face = source.registry.home.face
        if isinstance(face, Face):  # which blocks
            made = {name: one for name, one in vars(Face).items() if isinstance(one, VerbGroup)}
            verbs = {f"_{name}": one.kind(getattr(to, name), wait) for name, one in made.items()}
            self._set(face, {"_wait": wait, **verbs})

    def _set(self, road: object, values: dict[str, Any]) -> None:
        self._before.append((road, dict(vars(road))))
        vars(road).update(values)

    def end(self) -> None:
        """Give the verbs back to their road."""
        for road, values in self._before:
            vars(road).clear()
            vars(road).update(values)


def _is_group(value: object) -> bool:
    return isinstance(value, VerbGroup)

"""A service and an image with functions of one's own, as docs/guide/deploying.md says."""

import json
import re
import shlex
import sys
from pathlib import Path

from tests.deploy.test_units import INSTALLED, UNITS, checked, copied
from tests.guides.test_commands import parse
from tests.tutorial.reader import Reader

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "deploying.md").read_text()
BLOCK = r"^```{}\n(.*?)^```$"
TASKS = """
from postroad import Postroad

road = Postroad()


@road.handler("welcome")
async def welcome(message):
    print("welcome,", message.body)
"""
TYPED = """
<!-- service -->
```console
$ {command}
The API and a worker at …
```

```console
$ postroad send welcome '"Bo"'
… is stored
```

<!-- service prints -->
```text
welcome, Bo
```
"""


def shown(kind: str) -> str:
    (block,) = re.findall(BLOCK.format(kind), GUIDE, re.MULTILINE | re.DOTALL)
    return str(block)


def drop_in(folder: Path, text: str) -> None:
    """What `systemctl edit` makes."""
    place = folder / "postroad.service.d"
    place.mkdir(exist_ok=True)
    (place / "override.conf").write_text(text)


def test_systemd_takes_the_change_of_the_command(tmp_path: Path) -> None:
    unit = copied(tmp_path, next(each for each in UNITS if each.stem == "postroad"))
    here = str(Path(sys.executable).parent / "postroad")
    drop_in(tmp_path, shown("ini").replace(INSTALLED, here))
    taken = checked(("verify", "--man=no"), unit)
    assert (taken.returncode, taken.stderr) == (0, "")
    drop_in(tmp_path, shown("ini").replace(INSTALLED, here).replace("ExecStart=\n", ""))
    assert "more than one ExecStart=" in checked(("verify", "--man=no"), unit).stderr


def test_the_changed_command_has_the_functions_and_commands_find_it(tmp_path: Path) -> None:
    """In the folder of the service, which is empty at first."""
    (code := tmp_path / "shop").mkdir()
    (state := tmp_path / "state").mkdir()
    (code / "tasks.py").write_text(TASKS)
    (*_, command) = re.findall(rf"^ExecStart={INSTALLED} (.+)$", shown("ini"), re.MULTILINE)
    (path,) = re.findall(r"^Environment=(PYTHONPATH=).+$", shown("ini"), re.MULTILINE)
    with Reader(state, Path(sys.executable).parent) as reader:
        told = f"```console\n$ export {path}{code}\n```\n"
        assert reader.follow(told + TYPED.format(command=f"postroad {command}")) == 4
    assert (state / "road" / "road.db.token").exists()


def test_the_image_with_functions_runs_a_command_that_there_is() -> None:
    (command,) = re.findall(r"^CMD (\[.+\])$", shown("dockerfile"), re.MULTILINE)
    parse(json.loads(command))


def test_the_commands_after_an_installation_are_ones_that_there_are() -> None:
    typed = re.findall(rf"{INSTALLED} ([^-#\n].+?)(?: +#.*)?$", GUIDE, re.MULTILINE)
    assert len(typed) >= 3
    for words in typed:
        parse(shlex.split(words))

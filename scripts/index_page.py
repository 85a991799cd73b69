"""README for the page of a package index: links within the repository get an address.

Called by hatchling whenever the project is built or installed.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\[\]]*)\]\((?!\w+:|#)([^)\s]+)\)")


def whole(text: str, about: dict[str, Any]) -> str:
    """A paper whose links lead to the files of this release, and whose pictures are shown.

    `about` is pyproject.toml: a page that shows a file is no picture, so the two have an address each.
    """
    version, place = about["project"]["version"], about["tool"]["postroad"]["index-page"]

    def filled(link: re.Match[str]) -> str:
        mark, words, path = link.groups()
        address = place["picture" if mark else "file"].format(version=version, path=path)
        return f"{mark}[{words}]({address})"

    return LINK.sub(filled, text)


class IndexPage(MetadataHookInterface):
    """What hatchling asks for the fields that pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        root = Path(self.root)
        about = tomllib.loads((root / "pyproject.toml").read_text())
        text = whole((root / "README.md").read_text(), about)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}

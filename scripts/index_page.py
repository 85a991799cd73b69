"""README for the page of a package index: links within the repository get the project's address.

Called by hatchling whenever the project is built or installed.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"\]\((?!\w+:|#)([^)\s]+)\)")


def whole(text: str, source: str) -> str:
    """A paper whose links to files are those of the project's repository."""
    return LINK.sub(lambda link: f"]({source.rstrip('/')}/{link[1]})", text)


class IndexPage(MetadataHookInterface):
    """What hatchling asks for the fields that pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        root = Path(self.root)
        about = tomllib.loads((root / "pyproject.toml").read_text())["project"]
        text = whole((root / "README.md").read_text(), about["urls"]["Source"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}

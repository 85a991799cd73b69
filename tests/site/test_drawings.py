"""Flow charts of the papers are pictures on the site, each made from its block."""

from pathlib import Path

import pytest

from scripts import drawings
from tests.site.links import papers

ROOT = Path(__file__).parents[2]


def test_each_flow_chart_has_its_picture_and_no_picture_is_left_over() -> None:
    """Make them by `make drawings`."""
    made = {drawings.name(block) for block in drawings.blocks()}
    assert len(made) >= 5
    assert {place.name for place in ROOT.glob("docs/img/drawing-*.svg")} == made
    outside = [paper for paper in papers(ROOT) if "docs" not in paper.parts]
    assert not [paper.name for paper in outside if drawings.BLOCK.search(paper.read_text())]


def test_a_chart_is_read_as_its_writer_meant() -> None:
    block = "flowchart LR\n    a([In]) --> b[[q<br/>r]] -- x, y --> c{{c}}\n    c <-- z --> a\n"
    lines = drawings.dot(block).splitlines()
    assert '"a" [label="In", shape=box, style=rounded];' in lines
    assert r'"b" [label="q\nr", shape=box, peripheries=2];' in lines
    assert '"a" -> "b" [label=""];' in lines
    assert '"b" -> "c" [label="x, y"];' in lines
    assert '"c" -> "a" [label="z", dir=both];' in lines
    assert drawings.name(block) != drawings.name(block.replace("x, y", "x"))
    for wrong in ("sequenceDiagram\n    a->>b: c\n", "flowchart LR\n    a ==> b\n"):
        with pytest.raises(ValueError, match="nobody knows how to draw"):
            drawings.dot(wrong)

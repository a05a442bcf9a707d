"""The page of alignment scores, with and without gold links."""

import re
from pathlib import Path

from mbert_atlas.files import write_json
from mbert_atlas.scorecard.tables import write_alignment_page

WAY = {"aer": 0.269, "precision": 0.876, "recall": 0.628, "f1": 0.731, "links": 1700}


def test_scores_have_a_row_per_way_of_joining(tmp_path: Path) -> None:
    ways = {"intersection": {**WAY, "sentences": 90}, "one_to_one": {**WAY, "sentences": 90}}
    write_json({"symmetrisation": "one_to_one", "by_symmetrisation": ways}, tmp_path / "hi.json")
    write_json({"symmetrisation": "union", "aer": None, "sentences": 0}, tmp_path / "ru.json")
    paths = {("bitext", code): tmp_path / f"{code}.json" for code in ("hi", "ru")}
    write_alignment_page(paths, {"hi": "Hindi"}, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    rows = [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr>(<td>.*?)</tr>", page)]
    assert [row[:4] for row in rows] == [
        ["bitext", "Hindi", "intersection", "26.9"],
        ["bitext", "Hindi", "one to one (used)", "26.9"],
        ["bitext", "ru", "no gold links", "–"],
    ]
    assert rows[0][-1] == "1,700"
    assert "not comparable" not in page
    assert "AER is the alignment error rate: lower is better." in page
    assert '<a href="index.html">' in page

"""The page of alignment scores, with and without gold links."""

from __future__ import annotations

from pathlib import Path

import pytest

from mbert_atlas.errors import DataError
from mbert_atlas.files import write_json
from mbert_atlas.scorecard.alignment import alignment_rows, write_alignment_page

WAY = {"aer": 0.269, "precision": 0.876, "recall": 0.628, "f1": 0.731, "links": 1700}


def test_scores_have_a_row_per_way_of_joining(tmp_path: Path) -> None:
    ways = {"intersection": {**WAY, "sentences": 90}, "one_to_one": {**WAY, "sentences": 90}}
    write_json({"symmetrisation": "one_to_one", "by_symmetrisation": ways}, tmp_path / "hi.json")
    write_json({"symmetrisation": "union", "aer": None, "sentences": 0}, tmp_path / "ru.json")
    paths = {("bitext", code): tmp_path / f"{code}.json" for code in ("hi", "ru")}
    rows = alignment_rows(paths, {"hi": "Hindi"})
    assert [row["symmetrisation"] for row in rows] == [
        "intersection",
        "one to one (used)",
        "no gold links",
    ]
    assert (rows[0]["language"], rows[0]["AER"], rows[0]["predicted links"]) == (
        "Hindi",
        "26.9",
        "1,700",
    )
    assert (rows[2]["language"], rows[2]["AER"]) == ("ru", "–")
    write_alignment_page(rows, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<td>26.9</td>" in page
    assert "not comparable" not in page


def test_a_file_without_scores_is_named(tmp_path: Path) -> None:
    bad = {"symmetrisation": "union", "by_symmetrisation": {"union": {"aer": 0.1}}}
    write_json(bad, tmp_path / "x.json")
    with pytest.raises(DataError, match=r"x\.json, key \w+: is missing"):
        alignment_rows({("bitext", "hi"): tmp_path / "x.json"}, {})

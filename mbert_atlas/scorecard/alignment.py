"""Quality of word alignment: one page of the scores against gold links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from mbert_atlas.errors import DataError
from mbert_atlas.files import read_json
from mbert_atlas.labels import label
from mbert_atlas.scorecard.templates import Setting, render

_SCORES = {"AER": "aer", "precision": "precision", "recall": "recall", "F1": "f1"}
_COUNTS = {"gold sentences": "sentences", "predicted links": "links"}


def alignment_rows(
    scores: Mapping[tuple[str, str], Path], names: Mapping[str, str]
) -> list[dict[str, str]]:
    """Return a row per bitext, language and symmetrisation of the two directions.

    Args:
        scores: by bitext and language the JSON file of the alignment; a language without gold
            links has one row without scores.
        names: language code to English name.

    Raises:
        DataError: names the file that lacks a score.
    """
    rows = []
    for (bitext, language), path in scores.items():
        content = read_json(path)
        head = {"bitext": bitext, "language": names.get(language, language)}
        methods = content.get("by_symmetrisation", {})
        try:
            for method, values in methods.items():
                used = " (used)" if method == content["symmetrisation"] else ""
                head["symmetrisation"] = label(method) + used
                shares = {name: f"{100 * values[key]:.1f}" for name, key in _SCORES.items()}
                counts = {name: f"{values[key]:,}" for name, key in _COUNTS.items()}
                rows.append(head | shares | counts)
        except KeyError as error:
            raise DataError(path, f"key {error.args[0]}", "is missing", "align again") from error
        if not methods:
            head["symmetrisation"] = "no gold links"
            rows.append(head | dict.fromkeys([*_SCORES, *_COUNTS], "–"))
    return rows


def write_alignment_page(rows: Sequence[Mapping[str, str]], output: Path) -> None:
    """Write what :func:`alignment_rows` returns as a page; shares are in percent.

    Raises:
        AtlasError: if the disk is full.
    """
    title = "Word alignment against gold links (%)"
    content = {"title": title, "tables": [], "not_run": [], "facts": rows}
    render("table.html.j2", output, Setting("", comparable=True), **content)

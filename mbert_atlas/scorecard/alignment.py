"""How good word links are: one page of the scores against gold links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path, read_json
from mbert_atlas.labels import label
from mbert_atlas.scorecard.tables import environment

_SHARES = {"AER": "aer", "precision": "precision", "recall": "recall", "F1": "f1"}


def alignment_rows(
    scores: Mapping[tuple[str, str], Path], names: Mapping[str, str]
) -> list[dict[str, str]]:
    """Return a row per bitext, language and way to join the two directions.

    Args:
        scores: by bitext and language the JSON file of the alignment; a language without gold
            links has one row that says so.
        names: language code to English name.

    Raises:
        DataError: names the file that lacks a score.
    """
    rows = []
    for (bitext, language), path in scores.items():
        found = read_json(path)
        head = {"bitext": bitext, "language": names.get(language, language)}
        try:
            by_way: Mapping[str, Mapping[str, Any]] = found.get("by_symmetrisation", {})
            for way, values in by_way.items():
                used = " (used)" if way == found["symmetrisation"] else ""
                shares = {name: f"{100 * values[key]:.1f}" for name, key in _SHARES.items()}
                counts = {
                    "gold sentences": f"{values['sentences']:,}",
                    "links found in them": f"{values['links']:,}",
                }
                rows.append({**head, "directions joined by": label(way) + used, **shares, **counts})
        except KeyError as error:
            raise DataError(path, f"key {error.args[0]}", "is missing", "align again") from error
        if not by_way:
            rest = dict.fromkeys([*_SHARES, "gold sentences", "links found in them"], "–")
            rows.append({**head, "directions joined by": "no gold links", **rest})
    return rows


def write_alignment_page(rows: Sequence[Mapping[str, str]], output: Path) -> None:
    """Write what :func:`alignment_rows` returns as a page; shares are in percent.

    Raises:
        AtlasError: if the disk is full.
    """
    text = (
        environment()
        .get_template("table.html.j2")
        .render(
            title="Word alignment against gold links, in percent",
            tables=[],
            not_run=[],
            comparable=True,
            facts=rows,
        )
    )
    with atomic_path(output) as temporary:
        temporary.write_text(text, encoding="utf-8")

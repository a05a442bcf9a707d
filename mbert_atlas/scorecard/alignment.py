"""Quality of word alignment: one page of the scores against gold links."""

from collections.abc import Mapping
from pathlib import Path

from mbert_atlas.files import read_json
from mbert_atlas.labels import label
from mbert_atlas.scorecard.templates import Setting, render

_SCORES = {"AER": "aer", "precision": "precision", "recall": "recall", "F1": "f1"}
_COUNTS = {"gold sentences": "sentences", "predicted links": "links"}


def write_alignment_page(
    scores: Mapping[tuple[str, str], Path], names: Mapping[str, str], output: Path
) -> None:
    """Write a page with a row per bitext, language and symmetrisation; shares are in percent.

    Args:
        scores: by bitext and language the JSON file of the alignment; a language without gold
            links has one row without scores.
        names: language code to English name.
        output: the page.
    """
    rows = []
    for (bitext, language), path in scores.items():
        content = read_json(path)
        methods = content.get("by_symmetrisation", {})
        head = {"bitext": bitext, "language": names.get(language, language)}
        for method, values in methods.items():
            used = " (used)" if method == content["symmetrisation"] else ""
            row = head | {"symmetrisation": label(method) + used}
            row |= {name: f"{100 * values[key]:.1f}" for name, key in _SCORES.items()}
            rows.append(row | {name: f"{values[key]:,}" for name, key in _COUNTS.items()})
        if not methods:
            head["symmetrisation"] = "no gold links"
            rows.append(head | dict.fromkeys([*_SCORES, *_COUNTS], "–"))
    content = {"title": "Word alignment against gold links (%)", "facts": rows}
    setting = Setting("", comparable=True)
    render("table.html.j2", output, setting, **content, tables=[], not_run=[])

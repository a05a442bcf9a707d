"""What jobs that write pages have in common."""

from pathlib import Path
from typing import Any

from mbert_atlas.scorecard.citations import read_citations
from mbert_atlas.scorecard.compare import compare
from mbert_atlas.scorecard.provenance import read_trace
from mbert_atlas.scorecard.rules import Contrast
from mbert_atlas.scorecard.templates import Setting


def setting_of(snakemake: Any) -> Setting:
    """Return what a page is about, with provenance if that is an input, and BibTeX."""
    record = snakemake.input.get("provenance")
    return Setting(
        **snakemake.params.setting,
        record=read_trace(record) if record else {},
        citations=read_citations(Path(snakemake.params.citation["path"])),
    )


def compared(snakemake: Any) -> tuple[Any, dict[str, list[Any]]]:
    """Return the frame of measured and reported cells, and the contrasts of each paper."""
    params = snakemake.params
    contrasts = {
        paper: [Contrast(*contrast) for contrast in declared]
        for paper, declared in params.compared["contrasts"].items()
    }
    frame = compare(
        snakemake.input.measurements,
        [Path(item["path"]) for item in params.compared["reported"]],
        contrasts=contrasts,
        comparable=params.setting["comparable"],
        not_reproducible=[Path(params.compared["not_reproducible"]["path"])],
    )
    return frame, contrasts

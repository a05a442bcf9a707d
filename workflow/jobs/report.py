"""Jobs of the rules in `workflow/rules/report.smk`."""

from pathlib import Path
from typing import Any

from workflow.job import Snakemake

_LINKS = {
    "claims.html": "all claims with their verdicts, to sort, search and filter",
    "claims.csv": "all claims with their verdicts and effects",
    "scorecard.html": "all reported numbers next to those of this run",
    "scorecard.csv": "all reported numbers next to those of this run, and additional results",
    "cost.csv": "jobs, hours and memory by paper and stage",
    "alignment.html": "quality of the word alignment (AER)",
    "report.html": "all figures and tables with captions in one file, after --report",
}


def setting_of(snakemake: Snakemake) -> Any:
    """Return what a page is about, with provenance if that is an input, and BibTeX."""
    from mbert_atlas.scorecard.citations import read_citations
    from mbert_atlas.scorecard.provenance import read_trace
    from mbert_atlas.scorecard.templates import Setting

    record = snakemake.input.get("provenance")
    return Setting(
        **snakemake.params.setting,
        record=read_trace(Path(record)) if record else {},
        citations=read_citations(Path(snakemake.params.citation["path"])),
    )


def compared(snakemake: Snakemake) -> tuple[Any, dict[str, list[Any]]]:
    """Return the frame of measured and reported cells, and the contrasts of each paper."""
    from mbert_atlas.scorecard.compare import compare
    from mbert_atlas.scorecard.rules import Contrast

    contrasts = {
        paper: [Contrast(*contrast) for contrast in declared]
        for paper, declared in snakemake.params.contrasts.items()
    }
    frame = compare(
        list(map(Path, snakemake.input.measurements)),
        [Path(item["path"]) for item in snakemake.params.reported],
        contrasts=contrasts,
        comparable=snakemake.params.setting["comparable"],
        not_reproducible=[Path(snakemake.params.not_reproducible["path"])],
    )
    return frame, contrasts


def scorecard(snakemake: Snakemake) -> None:
    from mbert_atlas.scorecard.cells import read_reasons, write_csv
    from mbert_atlas.scorecard.pages import write_page
    from mbert_atlas.scorecard.templates import figure_links

    params, output = snakemake.params, snakemake.output
    setting = setting_of(snakemake)
    frame, contrasts = compared(snakemake)
    write_csv(frame, output.csv, digits=8)
    write_page(
        frame,
        Path(output.html),
        setting=setting,
        titles=params.titles,
        contrasts=contrasts,
        library=Path(snakemake.input.library[0]).parent,
        figures=figure_links(params.figures, setting.names),
        reasons=read_reasons(reasons) if (reasons := snakemake.input.reasons) else {},
    )


def judge_claims(snakemake: Snakemake) -> None:
    from mbert_atlas.scorecard.cells import write_csv
    from mbert_atlas.scorecard.claims import read_claims
    from mbert_atlas.scorecard.verdicts import verdicts

    reported = {Path(item["path"]).stem: Path(item["path"]) for item in snakemake.params.reported}
    claims = {
        paper: read_claims(Path(item["path"]), paper, reported[paper])
        for paper, item in snakemake.params.claims.items()
    }
    frame = verdicts(
        claims,
        list(map(Path, snakemake.input.measurements)),
        list(reported.values()),
        list(map(Path, snakemake.input.resamples)),
        languages=snakemake.params.languages,
        comparable=snakemake.params.comparable,
    )
    write_csv(frame, snakemake.output[0])


def cost(snakemake: Snakemake) -> None:
    from mbert_atlas.scorecard.cells import write_csv
    from mbert_atlas.scorecard.cost import collect_cost

    root = Path(snakemake.params.benchmarks)
    frame = collect_cost(
        sorted(root.rglob("*.tsv")),
        root=root,
        logs=Path(snakemake.params.logs),
        rules=snakemake.params.rules,
        papers=snakemake.params.papers,
    )
    write_csv(frame, snakemake.output[0])


def write_replication(snakemake: Snakemake) -> None:
    import pandas as pd

    from mbert_atlas.scorecard.pages import write_replication
    from mbert_atlas.scorecard.templates import figure_links
    from mbert_atlas.scorecard.verdicts import read_verdicts

    params, paper = snakemake.params, snakemake.wildcards.paper
    setting = setting_of(snakemake)
    frame, contrasts = compared(snakemake)
    write_replication(
        read_verdicts(snakemake.input.claims),
        Path(snakemake.output[0]),
        paper=paper,
        title=params.title,
        setting=setting,
        scorecard=frame[frame["paper"] == paper],
        contrasts=contrasts[paper],
        artifacts=params.artifacts,
        figures=figure_links(params.figures, setting.names),
        prose=Path(params.prose["path"]).read_text(encoding="utf-8"),
        cost=pd.read_csv(snakemake.input.cost),
    )


def write_index(snakemake: Snakemake) -> None:
    from mbert_atlas.scorecard.front import write_claims, write_index
    from mbert_atlas.scorecard.templates import figure_links
    from mbert_atlas.scorecard.verdicts import read_verdicts

    params, scope = snakemake.params, snakemake.wildcards.scope
    setting = setting_of(snakemake)
    missing = {"report.html"} if scope else set()  # the report is about everything
    missing |= set() if snakemake.input.alignment else {"alignment.html"}
    if scope == "highlights/":
        missing |= {"scorecard.html", "scorecard.csv"}
    claims, library = read_verdicts(snakemake.input.claims), Path(snakemake.input.library[0]).parent
    output = snakemake.output
    write_claims(claims, Path(output.claims), setting=setting, library=library)
    write_index(
        claims,
        Path(output.index),
        titles=params.titles,
        setting=setting,
        figures=figure_links(params.figures, setting.names),
        links={name: text for name, text in _LINKS.items() if name not in missing},
        root=library.parent,
        part=scope.rstrip("/"),
    )


def write_library(snakemake: Snakemake) -> None:
    from mbert_atlas.scorecard.interactive import write_library

    write_library(Path(snakemake.output.script), Path(snakemake.output.style))


def write_alignment_scores(snakemake: Snakemake) -> None:
    from mbert_atlas.scorecard.tables import write_alignment_page

    pairs = map(tuple, snakemake.params.pairs)
    scores = dict(zip(pairs, map(Path, snakemake.input), strict=True))
    write_alignment_page(scores, snakemake.params.names, Path(snakemake.output[0]))

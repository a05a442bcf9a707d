from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run

_LINKS = {
    "scorecard.html": "all reported numbers next to those of this run",
    "claims.csv": "the verdicts as a table",
    "scorecard.csv": "the numbers as a table",
    "cost.csv": "jobs, hours and memory by paper and stage",
    "alignment.html": "quality of the word alignment (AER)",
    "report.html": "all figures and tables with captions in one file, after --report",
}


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.scorecard.pages import write_index
    from mbert_atlas.scorecard.templates import Setting, figure_links
    from mbert_atlas.scorecard.verdicts import read_verdicts

    params, scope = snakemake.params, snakemake.wildcards.scope
    missing = {"report.html"} if scope else set()  # the report is about everything
    missing |= set() if snakemake.input.alignment else {"alignment.html"}
    if scope == "highlights/":
        missing |= {"scorecard.html", "scorecard.csv"}
    write_index(
        read_verdicts(snakemake.input.claims),
        Path(snakemake.output[0]),
        titles=params.titles,
        setting=Setting(params.run, params.comparable, params.world),
        figures=figure_links(params.figures, params.names),
        links={name: text for name, text in _LINKS.items() if name not in missing},
        part=scope.rstrip("/"),
    )


run(main, snakemake)

from pathlib import Path

from workflow.scripts.atlas_job import run

_LINKS = {
    "scorecard.html": "every number that the papers print beside ours",
    "claims.csv": "the verdicts as a table",
    "scorecard.csv": "the numbers as a table",
    "cost.csv": "jobs, hours and memory by paper and stage",
    "alignment.html": "how good the word links are (AER)",
    "report.html": "all figures and tables with captions in one file, if --report has made it",
}
_HIGHLIGHTS = {
    "claims.csv": "the verdicts as a table",
    "cost.csv": "jobs, hours and memory by paper and stage",
}


def main(snakemake):
    from mbert_atlas.scorecard.page import drawing
    from mbert_atlas.scorecard.replication import Setting, write_index
    from mbert_atlas.scorecard.verdicts import read_verdicts

    params, scope = snakemake.params, snakemake.wildcards.scope
    links = _HIGHLIGHTS if scope == "highlights/" else _LINKS
    missing = {"report.html"} if scope else set()  # it is of all
    missing |= set() if snakemake.input.alignment else {"alignment.html"}
    links = {name: text for name, text in links.items() if name not in missing}
    write_index(
        read_verdicts(snakemake.input.claims),
        Path(snakemake.output[0]),
        titles=params.titles,
        setting=Setting(params.run, params.comparable, params.world),
        figures=[
            drawing(item["paper"], item["artifact"], Path(item["path"]), params.names)
            for item in params.figures
        ],
        links=links,
        part=scope.rstrip("/"),
    )


run(main, snakemake)

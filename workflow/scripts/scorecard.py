from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.corpora.cards import corpora_read
    from mbert_atlas.scorecard.compare import compare, write_scorecard
    from mbert_atlas.scorecard.page import drawing, write_page
    from mbert_atlas.scorecard.reasons import read_reasons
    from mbert_atlas.scorecard.replication import provenance
    from mbert_atlas.scorecard.rules import Contrast

    contrasts = {
        paper: [Contrast(*contrast) for contrast in declared]
        for paper, declared in snakemake.params.contrasts.items()
    }
    frame = compare(
        list(map(Path, snakemake.input.measurements)),
        [Path(item["path"]) for item in snakemake.params.reported],
        contrasts=contrasts,
        comparable=snakemake.params.comparable,
    )
    write_scorecard(frame, snakemake.output.csv)
    write_page(
        frame,
        Path(snakemake.output.html),
        run_name=snakemake.params.run,
        comparable=snakemake.params.comparable,
        provenance=provenance() | corpora_read(Path(snakemake.output.csv).parent / "data"),
        titles=snakemake.params.titles,
        contrasts=contrasts,
        names=snakemake.params.names,
        reasons=read_reasons(reasons) if (reasons := snakemake.input.reasons) else {},
        conditions=snakemake.params.conditions,
        figures=[
            drawing(item["paper"], item["artifact"], Path(item["path"]), snakemake.params.names)
            for item in snakemake.params.figures
        ],
    )


run(main, snakemake)

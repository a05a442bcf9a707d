from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.corpora.cards import corpora_read
    from mbert_atlas.scorecard.cells import read_reasons, write_csv
    from mbert_atlas.scorecard.compare import compare
    from mbert_atlas.scorecard.pages import write_page
    from mbert_atlas.scorecard.rules import Contrast
    from mbert_atlas.scorecard.templates import Setting, figure_links, provenance

    params, output = snakemake.params, snakemake.output
    contrasts = {
        paper: [Contrast(*contrast) for contrast in declared]
        for paper, declared in params.contrasts.items()
    }
    frame = compare(
        list(map(Path, snakemake.input.measurements)),
        [Path(item["path"]) for item in params.reported],
        contrasts=contrasts,
        comparable=params.comparable,
    )
    write_csv(frame, output.csv, digits=10)
    write_page(
        frame,
        Path(output.html),
        setting=Setting(
            params.run, params.comparable, names=params.names, conditions=params.conditions
        ),
        provenance=provenance() | corpora_read(Path(output.csv).parent / "data"),
        titles=params.titles,
        contrasts=contrasts,
        figures=figure_links(params.figures, params.names),
        reasons=read_reasons(reasons) if (reasons := snakemake.input.reasons) else {},
    )


run(main, snakemake)

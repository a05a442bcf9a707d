from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.distances import word_pair_distances

    folders = map(Path, snakemake.input.models)
    word_pair_distances(
        encoders=dict(zip(snakemake.params.panels, folders, strict=True)),
        store=Path(snakemake.input.pairs),
        output=Path(snakemake.output.distances),
        summary=Path(snakemake.output.summary),
        pairs=snakemake.params.pairs,
        seed=int(snakemake.wildcards.seed),
    )


run(main, snakemake)

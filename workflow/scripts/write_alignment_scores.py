from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.scorecard.tables import write_alignment_page

    pairs = map(tuple, snakemake.params.pairs)
    scores = dict(zip(pairs, map(Path, snakemake.input), strict=True))
    write_alignment_page(scores, snakemake.params.names, Path(snakemake.output[0]))


run(main, snakemake)

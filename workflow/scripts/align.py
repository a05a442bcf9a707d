from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.alignment import align
    from mbert_atlas.corpora.gold_alignment import read_gold

    gold = [
        sentence
        for source in snakemake.params.gold
        for sentence in read_gold(
            [Path(path) for path in [source["path"], *source["partners"]]],
            source["format"],
        )
    ]
    align(
        snakemake.input.bitext,
        snakemake.output.pharaoh,
        gold=gold,
        scores=snakemake.output.scores,
        backend=snakemake.params.backend,
        symmetrisation=snakemake.params.symmetrisation,
        threads=snakemake.threads,
    )


run(main, snakemake)

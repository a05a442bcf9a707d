from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.alignment.bitext import align
    from mbert_atlas.corpora.gold_alignment import read_gold
    from mbert_atlas.files import write_json

    gold = [
        sentence
        for source in snakemake.params.gold
        for sentence in read_gold(
            [Path(path) for path in [source["path"], *source["partners"]]],
            source["format"],
        )
    ]
    scores = align(
        snakemake.input.bitext,
        snakemake.output.pharaoh,
        gold=gold,
        symmetrisation=snakemake.params.symmetrisation,
        threads=snakemake.threads,
    )
    write_json(scores, snakemake.output.scores)


run(main, snakemake)

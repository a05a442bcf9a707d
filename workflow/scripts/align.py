from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.alignment.bitext import align
    from mbert_atlas.corpora.gold_alignment import read_gold
    from mbert_atlas.files import write_json
    from mbert_atlas.languages import Language

    gold = []
    for source in snakemake.params.gold:
        paths = [Path(path) for path in (source["path"], *source["partners"])]
        gold.extend(read_gold(paths, source["format"], Language(**source["language"])))
    scores = align(
        snakemake.input.bitext,
        snakemake.output.pharaoh,
        gold=gold,
        symmetrisation=snakemake.params.symmetrisation,
        threads=snakemake.threads,
    )
    write_json(scores, snakemake.output.scores)

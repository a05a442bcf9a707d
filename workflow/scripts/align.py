from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.alignment.bitext import align
    from mbert_atlas.config.alignment import Alignment
    from mbert_atlas.corpora.gold_alignment import read_gold
    from mbert_atlas.files import write_json
    from mbert_atlas.languages import Language

    gold = []
    for source in snakemake.params.gold:
        paths = [Path(path) for path in (source["path"], *source["partners"])]
        language = Language(**source["language"])
        gold.extend(read_gold(paths, source["format"], language, source["first_word"]))
    card = align(
        snakemake.input.bitext,
        snakemake.output.pharaoh,
        gold=gold,
        options=Alignment(**snakemake.params.alignment),
        threads=snakemake.threads,
    )
    write_json(card, snakemake.output.scores)

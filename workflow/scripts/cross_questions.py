import tempfile
from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    import pyarrow as pa

    from mbert_atlas.corpora.qa import write_cross_language
    from mbert_atlas.files import read_json, read_parquet, write_json, write_parquet

    dataset = snakemake.params.dataset
    tables, cards = [], {}
    with tempfile.TemporaryDirectory(dir=Path(snakemake.output.table).parent) as folder:
        table, card = Path(folder, "table.parquet"), Path(folder, "card.json")
        for language in dataset["languages"]:
            is_english = dataset["questions"] == "english"
            write_cross_language(
                snakemake.input[0],
                snakemake.input[0],
                table,
                card,
                context_language=language if is_english else "en",
                question_language="en" if is_english else language,
            )
            tables.append(read_parquet(table))
            cards[language] = read_json(card)
    write_json(cards, snakemake.output.card)
    write_parquet(pa.concat_tables(tables), snakemake.output.table)


run(main, snakemake)

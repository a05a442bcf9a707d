from dataclasses import asdict
from pathlib import Path

from atlas_job import run


def main(snakemake):
    import numpy as np
    import pyarrow as pa

    from mbert_atlas.analysis.clustering import cluster_agreement
    from mbert_atlas.analysis.projection import stratified_sample, tsne
    from mbert_atlas.files import read_parquet, write_json, write_parquet
    from mbert_atlas.representations.extraction import load_vectors
    from mbert_atlas.schemas import LID_EXAMPLES

    texts = read_parquet(snakemake.input.texts, LID_EXAMPLES).to_pandas()
    test = np.flatnonzero(texts["split"] == "test")
    languages = texts["language"].to_numpy()[test]
    chosen = stratified_sample(languages, per_group=snakemake.params.per_language, seed=0)
    vectors = load_vectors(Path(snakemake.input.vectors))[-1][test[chosen]].astype(np.float32)
    points = tsne(
        vectors, seed=0, perplexity=snakemake.params.perplexity, threads=snakemake.threads
    )
    write_json({"languages": asdict(cluster_agreement(vectors, languages[chosen]))},
        snakemake.output.clusters)
    write_parquet(
        pa.table(
            {
                "id": texts["id"].to_numpy()[test[chosen]],
                "language": languages[chosen],
                "x": points[:, 0],
                "y": points[:, 1],
            }
        ),
        snakemake.output.points,
    )


run(main, snakemake)

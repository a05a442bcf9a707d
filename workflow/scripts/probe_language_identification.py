from pathlib import Path

from atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.probing import probe_language_identification
    from mbert_atlas.specifications import Probe

    probe_language_identification(
        vectors=Path(snakemake.input.vectors),
        examples=Path(snakemake.input.texts),
        specification=Probe(**snakemake.params.probe),
        seed=int(snakemake.wildcards.seed),
        output=Path(snakemake.output.predictions),
        dataset=Path(snakemake.input.texts).stem,
    )


run(main, snakemake)

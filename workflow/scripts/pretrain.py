from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.training.pretraining import make_encoder
    from mbert_atlas.training.processes import in_processes

    inputs = snakemake.input
    in_processes(
        snakemake.resources.get("gpu", 0),
        make_encoder,
        scratch=snakemake.params.encoder["scratch"],
        changed=snakemake.params.encoder["changed"],
        tokenizer=str(inputs.tokenizer),
        tokens=str(inputs.tokens),
        output=str(snakemake.output[0]),
        state=snakemake.params.state,
        start=str(inputs.start) if inputs.start else None,
    )


run(main, snakemake)

# Needs: nothing. Makes: what the rest of `all` will cost, from the plan alone.


localrules:
    predict,


rule predict:
    """Print and write hours, disk and wall time of the jobs of `all` that are still to be done."""
    log:
        "<results>/logs/predict.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        home=HOME.resolve(),
        command=lambda wildcards: prediction(),
    shell:
        "PYTHONPATH={params.home} {params.command} 2>&1 | tee {log}"

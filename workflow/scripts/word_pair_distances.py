from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.distances import Panel, word_pair_distances

    params, folders = snakemake.params, snakemake.input.models
    word_pair_distances(
        panels=list(map(Panel, params.panels, params.protocols, folders)),
        store=snakemake.input.pairs,
        output=snakemake.output.distances,
        summary=snakemake.output.summary,
        pairs=snakemake.params.pairs,
        seed=int(snakemake.wildcards.seed),
    )

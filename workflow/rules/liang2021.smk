# Liang et al. 2021, where language lives in the space. Needs: token vectors, directions, typology. Makes: probes of
# languages in subspaces, frozen classifiers without the first directions.

from mbert_atlas.papers.liang2021 import artifacts as liang2021


use rule job as probe_languages with:
    """One probe in subspaces of an encoder: every window of the last layer, the first one of the others."""
    input:
        vectors=lambda wildcards: plan.vectors_of(
            wildcards.encoder, liang2021.texts_of(plan, wildcards.encoder), wildcards.languages
        ),
        directions=lambda wildcards: plan.directions(
            wildcards.encoder, liang2021.texts_of(plan, wildcards.encoder), wildcards.languages
        ),
        typology=plan.table(plan.config.liang2021.typology),
    output:
        "<results>/probes/liang2021/{encoder}/{languages}/{probe}.parquet",
    log:
        "<results>/logs/probe_languages/{encoder}/{languages}/{probe}.log",
    benchmark:
        "<results>/benchmarks/probe_languages/{encoder}/{languages}/{probe}.tsv"
    wildcard_constraints:
        languages="[a-z]+|random[0-9]+",
        probe=plan.any_of(liang2021.PROBES),
    threads: plan.threads("probe_languages")
    resources:
        **plan.resources("probe_languages"),
    params:
        probing=lambda wildcards: liang2021.probing(plan, wildcards.probe, wildcards.languages),
        seeds=lambda wildcards: liang2021.seeds_of(plan, wildcards.languages),
        genera={language.code: language.genus for language in plan.languages},
        job=plan.job("liang2021:probe_languages"),


use rule job as classify_in_subspaces with:
    """Figure 4, frozen: linear classifiers of word vectors without their first directions."""
    input:
        train="<results>/features/liang2021/{model}-{task}-train/{encoder}",
        test="<results>/features/liang2021/{model}-{task}-test/{encoder}",
        directions=lambda wildcards: plan.directions(
            wildcards.encoder, liang2021.texts_of(plan, wildcards.encoder)
        ),
    output:
        "<results>/classifiers/liang2021/{model}-{task}/{encoder}.parquet",
    log:
        "<results>/logs/classify_in_subspaces/{model}-{task}/{encoder}.log",
    benchmark:
        "<results>/benchmarks/classify_in_subspaces/{model}-{task}/{encoder}.tsv"
    wildcard_constraints:
        model=plan.any_of(plan.config.liang2021.encoders),
        task=plan.any_of(
            f"{task}{words}"
            for task in plan.config.liang2021.removal.datasets
            for words in ("", liang2021.CHARACTERS)
        ),
    priority: 2
    threads: plan.threads("classify_in_subspaces")
    resources:
        **plan.resources("classify_in_subspaces"),
        features=1,
    params:
        methods=liang2021.METHODS,
        firsts=plan.config.liang2021.removal.firsts,
        layer=plan.config.liang2021.layers,
        maximum_vectors=plan.config.liang2021.removal.maximum_vectors,
        seeds=plan.config.seeds[: plan.config.liang2021.probing.seeds],
        job=plan.job("liang2021:classify_in_subspaces"),

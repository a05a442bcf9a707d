# Liang et al. 2021. Needs: token vectors, directions, typology. Makes: probes and frozen classifiers in subspaces.

from mbert_atlas.papers.liang2021 import artifacts as liang


rule probe_languages:
    """One probe in subspaces of an encoder: every window of the last layer, the first one of the others."""
    input:
        vectors=lambda w: plan.vectors_of(w.encoder, liang.texts_of(plan, w.encoder), w.languages),
        directions=job(liang.directions, plan=plan),
        typology=plan.table(plan.config.liang2021.typology),
    output:
        "<results>/probes/liang2021/{encoder}/{languages}/{probe}.parquet",
    log:
        "<results>/logs/probe_languages/{encoder}/{languages}/{probe}.log",
    benchmark:
        "<results>/benchmarks/probe_languages/{encoder}/{languages}/{probe}.tsv"
    wildcard_constraints:
        languages=plan.any_of(plan.language_sets),
        probe=plan.any_of(liang.PROBES),
    threads: plan.threads("probe_languages")
    resources:
        **plan.resources("probe_languages"),
    params:
        probing=job(liang.probing, plan=plan),
        seeds=job(liang.seeds_of, plan=plan),
        genera={language.code: language.genus for language in plan.languages},
        code=plan.code("liang2021.probe_languages"),
    script:
        "../scripts/liang2021/probe_languages.py"


rule classify_in_subspaces:
    """Figure 4, frozen: linear classifiers of word vectors without their first directions."""
    input:
        train="<results>/features/liang2021/{model}-{task}-train/{encoder}",
        test="<results>/features/liang2021/{model}-{task}-test/{encoder}",
        directions=job(liang.directions, plan=plan),
    output:
        "<results>/classifiers/liang2021/{model}-{task}/{encoder}.parquet",
    log:
        "<results>/logs/classify_in_subspaces/{model}-{task}/{encoder}.log",
    benchmark:
        "<results>/benchmarks/classify_in_subspaces/{model}-{task}/{encoder}.tsv"
    wildcard_constraints:
        model=plan.any_of(plan.config.liang2021.encoders),
    priority: 2
    threads: plan.threads("classify_in_subspaces")
    resources:
        **plan.resources("classify_in_subspaces"),
        features=1,
    params:
        methods=liang.METHODS,
        firsts=plan.config.liang2021.removal.firsts,
        layer=plan.config.liang2021.layers,
        maximum_vectors=plan.config.liang2021.removal.maximum_vectors,
        seeds=plan.config.seeds[: plan.config.liang2021.probing.seeds],
        code=plan.code("liang2021.classify_in_subspaces"),
    script:
        "../scripts/liang2021/classify_in_subspaces.py"

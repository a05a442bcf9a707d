# Liu et al. 2020, data, windows and shifts. Needs: embeddings, language means, predictions. Makes: Figures 1 to 8,
# Tables 1 to 4.


include: "liu2020_cells.smk"


RETRIEVAL[LIU.retrieval.dictionary] = LIU.retrieval.model_dump(exclude={"dictionary"})
MEANS[LIU.means] = {"encoding": LIU.mean_encoding, "texts": LIU.mean_texts}
STATIC_RUNS[inference_family(LIU.embeddings.reference)] = LIU.inference.network.model_dump()
LIU_MEASURED = {
    "word_retrieval": list(filter(shown_embeddings, ["figure1", "figure3", "figure5"])),
    "xnli": list(filter(shown_embeddings, ["figure2", "figure4", "figure6a", "figure6b"])),
    "token_translation": ["table1", "table2", "figure7", "figure8"],
    "token_set": ["table3"],
    "shifted": ["table4"],
}
LIU_PLOTS = sorted([*LIU_MEASURED["word_retrieval"], *LIU_MEASURED["xnli"]])
PLOTS |= {
    f"liu2020/{name}": figure_title("liu2020", name, sentences=SENTENCES.get(name))
    for name in LIU_PLOTS
}
ORDER["liu2020"] = [condition for name in LIU_PLOTS for condition, _, _ in shown_embeddings(name)]
TABLES |= {
    f"liu2020/table{number}": {
        "measurements": [f"<results>/measurements/liu2020/table{number}.csv"]
    }
    for number in range(1, 5)
}
TABLES["liu2020/table1"]["facts_from"] = "<results>/samples/liu2020/table1.json"
MEASUREMENTS["liu2020"] = [
    f"<results>/measurements/liu2020/{name}.csv"
    for names in LIU_MEASURED.values()
    for name in names
]
ARTIFACTS["liu2020"] = {
    **{name: [f"<results>/figures/liu2020/{name}.svg"] for name in LIU_PLOTS},
    **{
        name: [f"<results>/figures/liu2020/{name}.{protocol}.svg" for protocol in PROTOCOLS]
        for name in ("figure7", "figure8")
    },
    **{
        f"table{number}": [f"<results>/tables/liu2020/table{number}.html"] for number in range(1, 5)
    },
}
HIGHLIGHTS["liu2020"] = {
    "artifacts": ["table1", "table2"],
    "measurements": [f"<results>/measurements/liu2020/table{number}.csv" for number in (1, 2)],
}


localrules:
    measure_retrieval,
    measure_embeddings,
    measure_translation,
    count_token_sets,
    sample_translations,
    measure_shifted,
    plot_weights,


rule encode_parallel:
    """Sentences of XNLI that say the same in every language, as token ids."""
    input:
        tables=[table(name) for name in LIU.translation.sentences],
        tokenizer=lambda wildcards: tokenizer_folder(wildcards.encoder),
    output:
        directory("<results>/tokens/{encoder}/parallel"),
    log:
        "<results>/logs/encode_parallel/{encoder}.log",
    benchmark:
        "<results>/benchmarks/encode_parallel/{encoder}.tsv"
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("encode_parallel").threads
    resources:
        mem_mb=memory("encode_parallel"),
        runtime=minutes("encode_parallel"),
    params:
        languages=["en", *LIU.translation.languages],
        sizes={"max_length": LIU.translation.max_length, "limit": LIU.translation.limit},
        code=code("liu2020/encode_parallel"),
    script:
        "../scripts/liu2020/encode_parallel.py"


rule translate_tokens:
    """Sentences shifted to another language at every layer, and what the encoder then says."""
    input:
        encoder=lambda wildcards: encoder_folder(wildcards.encoder),
        sentences="<results>/tokens/{encoder}/parallel",
        means=f"<results>/means/{{encoder}}/{LIU.means}",
    output:
        "<results>/translation/{encoder}/{source}-{target}.parquet",
    log:
        "<results>/logs/translate_tokens/{encoder}/{source}-{target}.log",
    benchmark:
        "<results>/benchmarks/translate_tokens/{encoder}/{source}-{target}.tsv"
    wildcard_constraints:
        source="[a-z_]+",
        target="[a-z_]+",
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("translate_tokens").threads
    resources:
        mem_mb=memory("translate_tokens"),
        runtime=minutes("translate_tokens"),
        gpu=request("translate_tokens").gpu,
    params:
        layers=list(range(1, LIU.layers + 1)),
        weights=LIU.translation.weights,
        shown=lambda wildcards: SHOWN_SENTENCES.get(wildcards.target, []),
        code=code("liu2020/translate_tokens"),
    script:
        "../scripts/liu2020/translate_tokens.py"


rule classify_shifted:
    """Test and development sets shifted to the language of training, with every weight."""
    input:
        model="<results>/runs/{run}/seed{seed}/model",
        examples=lambda wildcards: [
            example_folder(RUNS[wildcards.run], name)
            for name in (LIU.inference.dataset, LIU.transfer.development)
        ],
        means=lambda wildcards: f"<results>/means/{RUNS[wildcards.run].base}/{LIU.means}",
    output:
        "<results>/shifted/{run}/seed{seed}.{protocol}.parquet",
    log:
        "<results>/logs/classify_shifted/{run}/seed{seed}.{protocol}.log",
    benchmark:
        "<results>/benchmarks/classify_shifted/{run}/seed{seed}.{protocol}.tsv"
    priority: 1
    conda:
        "../../envs/mbert-atlas.yaml"
    threads: request("classify_shifted").threads
    resources:
        mem_mb=memory("classify_shifted"),
        runtime=minutes("classify_shifted"),
        gpu=request("classify_shifted").gpu,
    params:
        datasets=[LIU.inference.dataset, LIU.transfer.development],
        shift={
            "layer": LIU.transfer.layer,
            "weights": LIU.transfer.weights,
            "languages": LIU.transfer.languages,
            "target": "en",
        },
        code=code("liu2020/classify_shifted"),
    script:
        "../scripts/liu2020/classify_shifted.py"


rule measure_retrieval:
    """Figures 1, 3, 5: words found by their translations, by embedding."""
    input:
        lambda wildcards: [path for *_, path in retrieval_cells(wildcards.artifact)],
    output:
        "<results>/measurements/liu2020/{artifact}.csv",
    log:
        "<results>/logs/measure_retrieval/{artifact}.log",
    wildcard_constraints:
        artifact=any_of(LIU_MEASURED["word_retrieval"]),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        cells=lambda wildcards: [cell[:-1] for cell in retrieval_cells(wildcards.artifact)],
        code=code("liu2020/measure_retrieval"),
    script:
        "../scripts/liu2020/measure_retrieval.py"


rule measure_embeddings:
    """Figures 2, 4, 6: zero-shot XNLI, by embedding."""
    input:
        lambda wildcards: [cell["path"] for cell in inference_cells(wildcards.artifact)],
    output:
        "<results>/measurements/liu2020/{artifact}.csv",
    log:
        "<results>/logs/measure_embeddings/{artifact}.log",
    wildcard_constraints:
        artifact=any_of(LIU_MEASURED["xnli"]),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        cells=lambda wildcards: [
            {**cell, "path": None} for cell in inference_cells(wildcards.artifact)
        ],
        code=code("liu2020/measure_embeddings"),
    script:
        "../scripts/liu2020/measure_embeddings.py"


rule measure_translation:
    """Tables 1 and 2, Figures 7 and 8: BLEU-1 and convert rate by direction, layer and weight."""
    input:
        lambda wildcards: [translation_path(*pair) for pair in shown_directions(wildcards.artifact)],
    output:
        "<results>/measurements/liu2020/{artifact}.csv",
    log:
        "<results>/logs/measure_translation/{artifact}.log",
    wildcard_constraints:
        artifact=any_of(LIU_MEASURED["token_translation"]),
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        directions=lambda wildcards: shown_directions(wildcards.artifact),
        layers=LIU.layers,
        settings=LIU.translation.model_dump(include={"best_of", "rate_layer", "score_layer"}),
        code=code("liu2020/measure_translation"),
    script:
        "../scripts/liu2020/measure_translation.py"


rule count_token_sets:
    """Table 3: tokens of each language, and those that it shares with English."""
    input:
        f"<results>/tokens/{LIU.embeddings.reference}/parallel",
    output:
        "<results>/measurements/liu2020/table3.csv",
    log:
        "<results>/logs/count_token_sets.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        code=code("liu2020/count_token_sets"),
    script:
        "../scripts/liu2020/count_token_sets.py"


rule sample_translations:
    """Table 1: what some sentences become, in words."""
    input:
        sentences=f"<results>/tokens/{LIU.embeddings.reference}/parallel",
        tokenizer=tokenizer_folder(LIU.embeddings.reference),
        translations=[translation_path(*pair) for pair in shown_directions("table1")],
    output:
        "<results>/samples/liu2020/table1.json",
    log:
        "<results>/logs/sample_translations.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        shown=SHOWN_SENTENCES,
        layer=LIU.translation.rate_layer,
        weights=LIU.translation.best_of,
        code=code("liu2020/sample_translations"),
    script:
        "../scripts/liu2020/sample_translations.py"


rule measure_shifted:
    """Table 4: XNLI with all layers trained, with the upper ones, and with the shift."""
    input:
        unshifted=[cell["path"] for cell in unshifted_cells()],
        shifted=[path for *_, path in shifted_cells()],
    output:
        "<results>/measurements/liu2020/table4.csv",
    log:
        "<results>/logs/measure_shifted.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        unshifted=[{**cell, "path": None} for cell in unshifted_cells()],
        shifted=[cell[:-1] for cell in shifted_cells()],
        choice={
            "test": LIU.inference.dataset,
            "development": LIU.transfer.development,
            "chosen_in": LIU.transfer.chosen_in,
        },
        code=code("liu2020/measure_shifted"),
    script:
        "../scripts/liu2020/measure_shifted.py"


rule plot_weights:
    """Figures 7 and 8: convert rate and BLEU-1 by layer and weight."""
    input:
        "<results>/measurements/liu2020/{artifact}.csv",
    output:
        report(
            "<results>/figures/liu2020/{artifact}.{protocol}.png",
            caption="../scripts/liu2020/weights.rst",
            category="liu2020",
            subcategory=lambda wildcards: headline(wildcards.artifact),
            labels={"language": "all", "protocol": "{protocol}", "kind": "figure"},
        ),
        "<results>/figures/liu2020/{artifact}.{protocol}.svg",
    log:
        "<results>/logs/plot_weights/{artifact}.{protocol}.log",
    wildcard_constraints:
        artifact="figure[78]",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        title=lambda wildcards: figure_title("liu2020", wildcards.artifact),
        code=code("liu2020/plot_weights"),
    script:
        "../scripts/liu2020/plot_weights.py"

# Liu et al. 2020: which jobs stand behind which artifact.

from mbert_atlas.papers.liu2020.config import encoders_of

LIU = CONFIG.liu2020
SHOWN_SENTENCES = {code: sorted(own) for code, own in LIU.translation.shown.items() if own}
COMPARED = {
    size: {
        **LIU.embeddings.static.get(size, {}),
        **{f"bert_{window}": names for window, names in windows.items()},
        "google_bert": [LIU.embeddings.reference],
    }
    for size, windows in LIU.embeddings.pretrained.items()
}
"""What a figure compares, by size of the data: names of embeddings, one per seed."""
STATIC_NAMES = {
    name
    for methods in LIU.embeddings.static.values()
    for names in methods.values()
    for name in names
}
BY_SIZE = {"200k": ("figure1", "figure2"), "1000k": ("figure3", "figure4")}
SENTENCES = {
    artifact: f"{CONFIG.encoders[names[0]].scratch.pretraining.sentences_per_language:,}"
    for size, windows in LIU.embeddings.pretrained.items()
    for names in [next(iter(windows.values()))]
    for artifact in BY_SIZE[size]
}
"""The sentences of each language behind the embeddings of a figure."""
BY_WINDOW = ("figure5", "figure6a", "figure6b")
DIRECTIONS = [pair for code in LIU.translation.languages for pair in (("en", code), (code, "en"))]


def shown_embeddings(artifact):
    """Condition, seed and name of the embeddings that an artifact compares."""
    found = []
    for size, conditions in COMPARED.items():
        for condition, names in conditions.items():
            if artifact in BY_SIZE[size]:
                shown = "bert" if condition == "bert_512" else condition
                wanted = condition != "bert_20"
            else:  # the effect of the window, in figures of both sizes
                shown = f"{condition}_{size}"
                wanted = artifact in BY_WINDOW and condition.startswith("bert_")
            if wanted:
                found += [(shown, seed, name) for seed, name in enumerate(names, 1)]
    return found


def retrieval_cells(artifact):
    """The retrievals behind a figure: condition, seed, language and path."""
    dictionary = LIU.retrieval.dictionary
    return [
        (condition, seed, language, f"<results>/retrieval/{name}/{dictionary}/{language}.parquet")
        for condition, seed, name in shown_embeddings(artifact)
        for language in CONFIG.datasets[dictionary].languages
    ]


def inference_family(encoder):
    """The fine-tunings of an encoder that Figures 2, 4, 6 compare."""
    return LIU.inference.runs.replace("{encoder}", encoder)


def inference_cells(artifact):
    """The predictions behind a figure, with the seed of the embeddings or of fine-tuning."""
    found = []
    for condition, number, name in shown_embeddings(artifact):
        for protocol in PROTOCOLS:
            is_static = name in STATIC_NAMES
            family = inference_family(LIU.embeddings.reference if is_static else name)
            run = RUNS.get(family, None, protocol)
            folder = f"<results>/{f'static/{name}/{family}' if is_static else f'runs/{run.id}'}"
            found += [
                {
                    "task": "xnli",
                    "kind": "nli",
                    "dataset": LIU.inference.dataset,
                    "source": "en",
                    "language": language,
                    "condition": condition,
                    "protocol": protocol,
                    "seed": 100 * (number - 1) + seed,  # of the embeddings, of what learns on them
                    "path": f"{folder}/seed{seed}/predictions.parquet",
                }
                for seed in run.seeds
                for language in LIU.inference.languages
            ]
    return found


def shifted_cells():
    """Condition, seed, protocol and path of the shifted classifications behind Table 4."""
    return [
        (
            f"{row}_last_6_layers",
            seed,
            protocol,
            f"<results>/shifted/{run.id}/seed{seed}.{protocol}.parquet",
        )
        for row, (_, upper) in LIU.transfer.runs.items()
        for protocol in PROTOCOLS
        for run in [RUNS.get(upper, None, protocol)]
        for seed in run.seeds
    ]


def unshifted_cells():
    """The predictions of Table 4's first lines."""
    return [
        {
            "task": "xnli",
            "kind": "nli",
            "dataset": LIU.inference.dataset,
            "source": "en",
            "language": language,
            "condition": f"{row}_all_layers",
            "protocol": protocol,
            "seed": seed,
            "path": f"<results>/runs/{run.id}/seed{seed}/predictions.parquet",
        }
        for row, (every, _) in LIU.transfer.runs.items()
        for protocol in PROTOCOLS
        for run in [RUNS.get(every, None, protocol)]
        for seed in run.seeds
        for language in LIU.transfer.languages
    ]


def translation_path(source, target):
    """What the released encoder makes of one language shifted to another."""
    return f"<results>/translation/{LIU.embeddings.reference}/{source}-{target}.parquet"


def shown_directions(artifact):
    """The directions that an artifact shows."""
    if artifact == "table1":
        return [("en", code) for code in SHOWN_SENTENCES]
    return DIRECTIONS if artifact == "table2" else [("en", LIU.translation.drawn)]

# Which runs stand behind which artifact, paper by paper.


def models_of(name, language, seed):
    """The folder of an encoder or of a family's run, by protocol."""
    if name in CONFIG.encoders:
        return {protocol: encoder_folder(name) for protocol in PROTOCOLS}
    return {
        protocol: model_folder(RUNS.get(name, language, protocol), seed) for protocol in PROTOCOLS
    }


def figure1_models(language, seed):
    """Model folders of one seed by panel and protocol; protocols that share a model name both."""
    found = {}
    for panel, name in CONFIG.efimov2022.panels.items():
        by_folder = {}
        for protocol, folder in models_of(name, language, seed).items():
            by_folder.setdefault(folder, []).append(protocol)
        for folder, protocols in by_folder.items():
            found[f"{panel}:{'+'.join(protocols)}"] = folder
    return found


def figure1_languages():
    return CONFIG.efimov2022.figure1_languages


def distance_files(language, suffix):
    return [f"<results>/distances/{language}/seed{seed}.{suffix}" for seed in CONFIG.seeds]


def transfer_cells():
    """Every prediction file behind Table 2, with the cell that it belongs to."""
    paper = CONFIG.efimov2022
    return [
        {
            "task": task,
            "condition": condition,
            "protocol": protocol,
            "language": language,
            "seed": seed,
            "dataset": dataset,
            "path": f"<results>/runs/{run.id}/seed{seed}/predictions.parquet",
        }
        for task, dataset in paper.table2.items()
        for condition, family in paper.conditions.items()
        for language in paper.languages
        for protocol in PROTOCOLS
        for run in [RUNS.get(family, language, protocol)]
        for seed in run.seeds
    ]


def tagging_cells():
    """Every prediction file of the fine-tuned tagger."""
    run = RUNS.get(CONFIG.tanti2021.tagging, None, "published")
    return [
        {"seed": seed, "path": f"<results>/runs/{run.id}/seed{seed}/predictions.parquet"}
        for seed in run.seeds
    ]


def probe_cells():
    """Every prediction file of the language identification probe."""
    paper = CONFIG.tanti2021
    return [
        {
            "protocol": protocol,
            "seed": seed,
            "path": f"<results>/probes/{paper.representation}/{protocol}/seed{seed}.parquet",
        }
        for protocol in paper.probe
        for seed in paper.seeds or CONFIG.seeds
    ]

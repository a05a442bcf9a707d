# Which runs stand behind which artifact, paper by paper.


def models_of(name, language, seed):
    """The folder of an encoder or of a family's run, by protocol; none if it lacks the seed."""
    if name in CONFIG.encoders:
        return {protocol: encoder_folder(name) for protocol in PROTOCOLS}
    runs = {protocol: RUNS.get(name, language, protocol) for protocol in PROTOCOLS}
    return {
        protocol: model_folder(run, seed)
        for protocol, run in runs.items()
        if int(seed) in run.seeds
    }


def facts(paper, artifact):
    """What a table says of languages, from resources/languages.csv: rows of texts, or nothing."""
    if (paper, artifact) != ("efimov2022", "table1"):
        return []
    languages = [LANGUAGES[code] for code in CONFIG.efimov2022.languages]
    return [
        {
            "language": language.name,
            "family": f"{language.family} / {language.genus}",
            "script": language.script,
            "word order": language.word_order,
        }
        for language in languages
    ]


def figures_of(language):
    """The figures of efimov2022 that show a language."""
    figures = CONFIG.efimov2022.figures.values()
    return [figure for figure in figures if language in figure.languages]


def distance_models(language, seed):
    """Model folders of one seed by panel and protocol; protocols that share a model name both."""
    found = {}
    panels = {}
    for figure in figures_of(language):
        panels |= figure.panels
    for panel, name in panels.items():
        by_folder = {}
        for protocol, folder in models_of(name, language, seed).items():
            by_folder.setdefault(folder, []).append(protocol)
        for folder, protocols in by_folder.items():
            found[f"{panel}:{'+'.join(protocols)}"] = folder
    return found


def distance_files(languages, suffix):
    """The measured distances of some languages, all seeds."""
    return [
        f"<results>/distances/{language}/seed{seed}.{suffix}"
        for language in languages
        for seed in CONFIG.seeds
    ]


def transfer_cells(artifact):
    """Every prediction file behind a table of efimov2022, with the cell that it belongs to."""
    table = CONFIG.efimov2022.tables[artifact]
    return [
        {
            "task": task,
            "corpus": dataset.corpus,
            "dataset": test.dataset,
            "language": language,
            "condition": condition,
            "protocol": protocol,
            "seed": seed,
            "path": f"<results>/runs/{run.id}/seed{seed}/predictions.parquet",
            "questions": dataset.questions,
            "normalisation": test.normalisation,
        }
        for task, test in table.tests.items()
        for dataset in [CONFIG.datasets[test.dataset]]
        for condition, shown in (
            table.conditions if test.conditions is None else test.conditions
        ).items()
        if shown
        for family, _, own in [shown.replace("{runs}", test.runs).partition("/")]
        for language in test.languages or table.languages
        if language in dataset.languages
        for protocol in PROTOCOLS
        for run in [RUNS.get(family, own or language, protocol)]
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

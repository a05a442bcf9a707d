# Which runs stand behind which artifact, paper by paper.

from mbert_atlas.papers.tanti2021.search import search_space


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
    """What goes before a table's numbers, rows of texts: languages, or Table 4's search space."""
    if (paper, artifact) == ("tanti2021", "table5"):
        return [
            {
                "searched": name.replace("_", " "),
                "values": ", ".join(f"{value:g}" for value in values),
            }
            for name, values in search_space(CONFIG).items()
        ]
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
            "questions": getattr(dataset, "questions", "same"),
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


CONDITIONS = {
    "table1": ["initial", "fine_tuned"],
    "table2": ["gradient_reversal", "entropy_maximisation"],
    "table3": ["gradient_reversal", "entropy_maximisation"],
    "figure3": ["initial", "fine_tuned"],
    "figure4": ["initial", "fine_tuned"],
    "figure5": ["gradient_reversal", "entropy_maximisation"],
    "figure6": ["gradient_reversal", "entropy_maximisation"],
}
"""The conditions that an artifact of tanti2021 shows."""
PROJECTIONS = {
    "figure3": ("udpos", "Tokens of UDPOS and Wikipedia, before and after fine-tuning"),
    "figure4": ("xnli", "Texts of XNLI and Wikipedia, before and after fine-tuning"),
    "figure5": ("udpos", "Tokens of UDPOS and Wikipedia, after unlearning language"),
    "figure6": ("xnli", "Texts of XNLI and Wikipedia, after unlearning language"),
}


def experiment(task, condition, protocol):
    """The run of a condition of tanti2021."""
    return RUNS.get(CONFIG.tanti2021.tasks[task].conditions[condition], None, protocol)


def tested_languages(task):
    """The languages of a task's test set that the experiments are measured in."""
    run = experiment(task, "fine_tuned", "published")
    return run.specification["evaluate"][CONFIG.tanti2021.tasks[task].test]


def experiment_cells(artifact, task):
    """Every condition, protocol and seed behind an artifact of tanti2021."""
    return [
        {"task": task, "condition": condition, "protocol": protocol, "seed": seed}
        for condition in CONDITIONS[artifact]
        for protocol in PROTOCOLS
        for seed in experiment(task, condition, protocol).seeds
    ]


SCORED = ("table1", "table2")
"""Those of them that need predictions; the others need clusters."""


def experiment_files(pattern, scored):
    """The file of each such cell: `pattern` with {task}, {run}, {seed} and {protocol}.

    None for the artifacts that need no such files: those with `scored` predictions, or the others.
    """

    def files(wildcards):
        if (wildcards.artifact in SCORED) != scored:
            return []
        return [
            pattern.format(
                run=experiment(cell["task"], cell["condition"], cell["protocol"]).id, **cell
            )
            for cell in experiment_cells(wildcards.artifact, wildcards.task)
        ]

    return files


def model_of_features(run, seed):
    """Which model a run's features come from: a frozen encoder is the same for every seed."""
    if run.specification["hyperparameters"]["trained_layers"] == "none":
        return run.base
    return f"{run.id}/seed{seed}"


def features_folder(which):
    """Input function: the features of one test set under the model of a run."""

    def folder(wildcards):
        model = model_of_features(RUNS[wildcards.run], wildcards.seed)
        return f"<results>/features/{wildcards.task}/{model}/{which}"

    return folder


def sample_of(task):
    """How large the samples of a task are (App. B)."""
    paper = CONFIG.tanti2021
    return {
        "per_cell": paper.tasks[task].points,
        "per_language": paper.points_per_language,
    }


def searched_families():
    """The families of tanti2021 with their tasks and conditions."""
    return {
        family: (task, condition)
        for task, item in CONFIG.tanti2021.tasks.items()
        for condition, family in item.conditions.items()
    }


def choice_cells():
    """What Table 5 lists: the choice of each experiment under both protocols."""
    return [
        {
            "task": task,
            "condition": "frozen" if condition == "initial" else condition,
            "protocol": protocol,
            "path": f"<results>/search/{family}.{protocol}.json",
        }
        for family, (task, condition) in searched_families().items()
        for protocol in PROTOCOLS
    ]


def counted_sets():
    """The encoded sets that appendix A counts."""
    found = {}
    for task, item in CONFIG.tanti2021.tasks.items():
        run = experiment(task, "fine_tuned", "published")
        selection = run.specification["hyperparameters"]["selection"]
        found[example_folder(run, run.specification["train"])] = {
            "task": task,
            "part": "train",
            "selection": selection,
        }
        for dataset, languages in CONFIG.runs[
            item.conditions["fine_tuned"]
        ].search.evaluate.items():
            found[example_folder(run, dataset)] = {
                "task": task,
                "part": "dev",
                "languages": languages,
            }
        found[example_folder(run, item.test)] = {
            "task": task,
            "part": "test",
            "languages": tested_languages(task),
        }
    wikipedia = CONFIG.tanti2021.tasks["xnli"].wikipedia
    found[encoded(CONFIG.tanti2021.model, wikipedia)] = {"task": "wikipedia", "part": "train"}
    return found


def first_seed(wildcards):
    """The seed that a figure of tanti2021 shows."""
    task = PROJECTIONS[wildcards.artifact][0]
    return experiment_cells(wildcards.artifact, task)[0]["seed"]


def projected(wildcards, folder, suffix):
    """The files of both conditions of such a figure."""
    task, seed = PROJECTIONS[wildcards.artifact][0], first_seed(wildcards)
    return [
        f"<results>/{folder}/{task}/{run.id}/seed{seed}.{suffix}"
        for condition in CONDITIONS[wildcards.artifact]
        for run in [experiment(task, condition, wildcards.protocol)]
    ]


def projected_languages():
    """All languages of tanti2021, so that each looks alike in every figure."""
    found = {}
    for name, task in CONFIG.tanti2021.tasks.items():
        found |= dict.fromkeys(tested_languages(name))
        found |= dict.fromkeys(CONFIG.datasets[task.wikipedia.dataset].languages)
    return sorted(found)

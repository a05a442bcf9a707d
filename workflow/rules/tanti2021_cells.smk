# Tanti et al. 2021: which runs, vectors and clusters stand behind which artifact.

TANTI = CONFIG.tanti2021
CONDITIONS = {
    "table1": ["initial", "fine_tuned"],
    "table2": ["gradient_reversal", "entropy_maximisation"],
    "table3": ["gradient_reversal", "entropy_maximisation"],
    "figure3": ["initial", "fine_tuned"],
    "figure4": ["initial", "fine_tuned"],
    "figure5": ["gradient_reversal", "entropy_maximisation"],
    "figure6": ["gradient_reversal", "entropy_maximisation"],
}
"""The conditions that an artifact shows."""
SCORED = ("table1", "table2")
"""Those of them that need predictions; the others need clusters."""
FAMILIES = [family for task in TANTI.tasks.values() for family in task.conditions.values()]
SEARCHED = ["table5"] if any(map(RUNS.draws, FAMILIES)) else []
"""What needs the search."""


def shown_conditions(artifact, task):
    """The conditions that an artifact shows of a task, but for what a config takes out."""
    item = TANTI.tasks.get(task)
    return [name for name in CONDITIONS[artifact] if item and name in item.conditions]


MAPS = {
    name: task
    for name, task in [
        ("figure3", "udpos"),
        ("figure4", "xnli"),
        ("figure5", "udpos"),
        ("figure6", "xnli"),
    ]
    if shown_conditions(name, task)
}


def experiment(task, condition, protocol):
    """The run of a condition."""
    return RUNS.get(TANTI.tasks[task].conditions[condition], None, protocol)


def tested_languages(task):
    """The languages of a task's test set that the experiments are measured in."""
    run = experiment(task, "fine_tuned", "published")
    return run.specification["evaluate"][TANTI.tasks[task].test]


def experiment_cells(artifact, task):
    """Every condition, protocol and seed behind an artifact."""
    return [
        {"task": task, "condition": condition, "protocol": protocol, "seed": seed}
        for condition in shown_conditions(artifact, task)
        for protocol in PROTOCOLS
        for seed in experiment(task, condition, protocol).seeds
    ]


def experiment_files(pattern, scored):
    """Input function: the file of each such cell, `pattern` with {task}, {run}, {seed}, {protocol}.

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


def choice_cells():
    """What Table 5 lists: the choice of each experiment under both protocols."""
    return [
        {
            "task": task,
            "condition": "frozen" if condition == "initial" else condition,
            "protocol": protocol,
            "path": f"<results>/search/{family}.{protocol}.json",
        }
        for task, item in TANTI.tasks.items()
        for condition, family in item.conditions.items()
        for protocol in PROTOCOLS
        if RUNS.draws(family)
    ]


def counted_sets():
    """The encoded sets that appendix A counts."""
    found = {}
    for task, item in TANTI.tasks.items():
        run = experiment(task, "fine_tuned", "published")
        found[example_folder(run, run.specification["train"])] = {
            "task": task,
            "part": "train",
            "selection": run.specification["hyperparameters"]["selection"],
        }
        sets = [("dev", *dev) for dev in CONFIG.runs[run.family].search.evaluate.items()]
        for part, dataset, languages in [*sets, ("test", item.test, tested_languages(task))]:
            counted = {"task": task, "part": part, "languages": languages}
            found[example_folder(run, dataset)] = counted
    wikipedia = encoded(TANTI.model, item.wikipedia)  # of the last task: all have the same texts
    return found | {wikipedia: {"task": "wikipedia", "part": "train"}}


def shown_seed(wildcards):
    """The seed that a map shows."""
    return experiment_cells(wildcards.artifact, MAPS[wildcards.artifact])[0]["seed"]


def mapped(wildcards, folder, suffix):
    """The files of both conditions of a map."""
    task = MAPS[wildcards.artifact]
    return [
        f"<results>/{folder}/tanti2021/{task}/{run.id}/seed{shown_seed(wildcards)}.{suffix}"
        for condition in shown_conditions(wildcards.artifact, task)
        for run in [experiment(task, condition, wildcards.protocol)]
    ]


def mapped_languages():
    """All languages, so that each looks alike in every map."""
    found = set()
    for name, task in TANTI.tasks.items():
        found.update(tested_languages(name), CONFIG.datasets[task.wikipedia.dataset].languages)
    return sorted(found)

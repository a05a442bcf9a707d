"""How much language a task's encoder shows: scores and clusters by experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mbert_atlas.analysis.scores import ALL_LANGUAGES, prediction_scores
from mbert_atlas.arrays import TokenStore
from mbert_atlas.config.training import Selection
from mbert_atlas.corpora.samples import held_out
from mbert_atlas.files import read_json

TOKEN_TASKS = ("udpos",)
MACRO_F1 = {
    ("token", "published"): "span_macro_f1",
    ("token", "corrected"): "token_macro_f1_present",
    ("text", "published"): "macro_f1_union",
    ("text", "corrected"): "macro_f1_present",
}
"""What "macro F1" is by unit and protocol.

The authors' code scores spans of bare tags where tokens are classified, and takes stray classes in
where texts are; Tables 1 and 2 print both under one name.
"""


@dataclass(frozen=True)
class Experiment:
    """One condition of a task under one protocol and seed, and the files that are to be measured.

    Attributes:
        task: ``udpos`` or ``xnli``.
        condition: ``initial``, ``fine_tuned``, ``gradient_reversal`` or ``entropy_maximisation``.
        protocol: ``published`` or ``corrected``.
        seed: of the run.
        labels: predictions of the task.
        languages: predictions of the language classifier, of the target test set and Wikipedia.
        report: what that classifier's training left, see
            :func:`mbert_atlas.analysis.probing.probe_features`.
        clusters: agreement of clusters, see :mod:`mbert_atlas.analysis.projection`.
    """

    task: str
    condition: str
    protocol: str
    seed: int
    labels: str = ""
    languages: str = ""
    report: str = ""
    clusters: str = ""

    @property
    def unit(self) -> str:
        """What is classified: ``token`` or ``text``."""
        return "token" if self.task in TOKEN_TASKS else "text"

    def row(self, metric: str, value: float, n: int, **more: Any) -> dict[str, Any]:
        """Return a measurement of this experiment."""
        keys = ("task", "condition", "protocol", "seed")
        common = {key: getattr(self, key) for key in keys}
        return {**common, "metric": metric, "value": value, "n": n, **more}


def measure_scores(experiments: Iterable[Experiment], artifact: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of Tables 1 and 2: the task, and languages of its test set and of Wikipedia.

    ``macro_f1_*`` is the protocol's, see :data:`MACRO_F1`; beside it stand accuracy, every other F1
    and the mean entropy (nats) of the language classifier. Scores of single languages go to
    ``<artifact>_languages``. Footnote 6 takes the fine-tuned encoder's micro F1 and accuracy.
    """
    for experiment in experiments:
        unit, protocol = experiment.unit, experiment.protocol
        headline = MACRO_F1[unit, protocol]
        for score in prediction_scores(experiment.labels, unit, protocol).to_dict("records"):
            name, value, n = str(score["metric"]), float(score["value"]), int(score["n"])
            where = {"artifact": artifact}
            if score["language"] != ALL_LANGUAGES:
                where = {"artifact": f"{artifact}_languages", "target": str(score["language"])}
            if name == headline:
                yield experiment.row("macro_f1_label", value, n, **where)
            if name.endswith("accuracy"):
                yield experiment.row("accuracy", value, n, **where)
            if score["language"] != ALL_LANGUAGES:
                continue
            if name != headline and "macro" in name:
                yield experiment.row(f"{name}_label", value, n, artifact=artifact)
            if experiment.condition == "fine_tuned":
                reported = {
                    # What the paper calls micro F1 of POS is its code's, over spans.
                    "token": {"published": "span_micro_f1", "corrected": "token_micro_f1"},
                    "text": dict.fromkeys(["published", "corrected"], "accuracy"),
                }[unit][protocol]
                if name == reported:
                    metric = "micro_f1_label" if unit == "token" else "accuracy_label"
                    yield experiment.row(metric, value, n, artifact="footnote6")
        yield from _language_scores(experiment, artifact)


def _language_scores(experiment: Experiment, artifact: str) -> Iterator[dict[str, Any]]:
    unit, protocol = experiment.unit, experiment.protocol
    # Every piece counts for language identification, whatever word it belongs to.
    scores = prediction_scores(experiment.languages, unit, "published")
    entropies = read_json(experiment.report)[protocol]["entropy"]
    for dataset in ("target", "wikipedia"):
        found = scores[(scores["dataset"] == dataset) & (scores["language"] == ALL_LANGUAGES)]
        for score in found.to_dict("records"):
            name, value, n = str(score["metric"]), float(score["value"]), int(score["n"])
            if name == MACRO_F1[unit, protocol]:
                metric = f"macro_f1_language_{dataset}"
            elif "macro" in name or name.endswith("accuracy"):
                metric = f"{name}_language_{dataset}"
            else:
                continue
            yield experiment.row(metric, value, n, artifact=artifact)
        entropy = float(entropies[dataset]["mean"])
        yield experiment.row(f"entropy_language_{dataset}", entropy, n, artifact=artifact)


def measure_clusters(experiments: Sequence[Experiment], artifact: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of Table 3 and of the captions of Figures 3 to 6, in percent.

    V-measure, AMI and the V-measure of shuffled labels, of the task's labels, its languages and
    Wikipedia's. ``published`` makes as many clusters for languages as the authors, ``corrected`` as
    there are languages.
    """
    for experiment in experiments:
        found = read_json(experiment.clusters)
        for what, by_protocol in found.items():
            agreement = by_protocol[experiment.protocol]
            for name in ("v_measure", "ami", "v_measure_chance"):
                value, n = 100 * float(agreement[name]), int(agreement["n"])
                yield experiment.row(f"{name}_{what}", value, n, artifact=artifact)


def count_examples(
    store: TokenStore,
    task: str,
    part: str,
    selection: Mapping[str, Any] | None = None,
    languages: Collection[str] | None = None,
) -> Counter[tuple[str, str]]:
    """Count the examples of an encoded dataset, by task and part (appendix A).

    Args:
        store: the examples, those with [UNK] left out.
        task: name of the task.
        part: ``train``, ``dev`` or ``test``; where the store has ``split``, that counts instead.
        selection: how training data are split, see :class:`mbert_atlas.config.training.Selection`;
            the part that is held out counts as ``val``.
        languages: count only examples in these; none for all.
    """
    if "split" in store.arrays:
        names = {"validation": "val"}
        return Counter((task, names.get(name, name)) for name in store.dense("split").tolist())
    found = store.dense("language")
    if languages is not None:
        found = found[np.isin(found, list(languages))]
    total = len(found)
    if not selection:
        return Counter({(task, part): total})
    how = Selection.model_validate(selection)
    marks = held_out(found, how.fraction, how.seed)
    held = int(marks.sum())
    return Counter({(task, part): total - held, (task, "val"): held})


def count_points(tasks: Sequence[str], clusters: Iterable[Path]) -> dict[str, int]:
    """Count the points of the samples (appendix B): of each task, and of Wikipedia.

    Args:
        tasks: names of the tasks.
        clusters: the agreement of clusters of any experiment of each.
    """
    found = {}
    for task, path in zip(tasks, clusters, strict=True):
        agreement = read_json(path)
        found[task] = int(agreement["label"]["published"]["n"])
        found["wikipedia"] = int(agreement["language_wikipedia"]["published"]["n"])
    return found

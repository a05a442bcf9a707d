"""How much language a task's encoder shows: scores and clusters by experiment."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mbert_atlas.analysis.resampling import RESAMPLED
from mbert_atlas.analysis.scores import ALL_LANGUAGES, prediction_scores
from mbert_atlas.arrays import load_arrays
from mbert_atlas.cells import Cell
from mbert_atlas.config.methods.selection import Selection
from mbert_atlas.corpora.samples import held_out
from mbert_atlas.files import read_json

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
FOOTNOTE_6 = {
    ("token", "published"): ("span_micro_f1", "micro_f1_label"),
    ("token", "corrected"): ("token_micro_f1", "micro_f1_label"),
    ("text", "published"): ("accuracy", "accuracy_label"),
    ("text", "corrected"): ("accuracy", "accuracy_label"),
}
"""Our score of the fine-tuned encoder, and how it is reported; micro F1 of POS is over spans."""
_CLUSTERING = {"published": "v_measure", "corrected": "ami"}
_HYPERPARAMETERS = {
    "head.initial_stddev": "init_std",
    "optimisation.batch_size": "minibatch",
    "optimisation.head_learning_rate": "classifier_lr",
    "optimisation.learning_rate": "encoder_lr",
}
Row = dict[str, Any]
_SCORE = ["metric", "language", "value", "n", RESAMPLED]
_WEIGHTS = {"gradient_reversal": "grad_rev_lambda", "entropy_maximisation": "entropy_weight"}


def measure_scores(cells: Sequence[Cell], *, by_language: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of Tables 1 and 2: the task, and languages of its test set and of Wikipedia.

    ``macro_f1_*`` is the protocol's, see :data:`MACRO_F1`; the entropy of the language classifier
    is in nats. ``majority_accuracy`` is that of the most frequent label. Scores of single languages
    go to the artifact ``by_language``.

    Cells have the files ``labels`` (predictions of the task), ``languages`` (predictions of the
    language classifier, of the target test set and Wikipedia) and ``training`` (the report of
    :func:`mbert_atlas.analysis.probing.probe_features`).
    """
    for cell in cells:
        yield from _label_scores(cell, by_language)
        yield from _language_scores(cell)


def _label_scores(cell: Cell, by_language: str) -> Iterator[dict[str, Any]]:
    unit = _unit(cell)
    headline = MACRO_F1[unit, cell.protocol]
    footnote, name_there = FOOTNOTE_6[unit, cell.protocol]
    scores = prediction_scores(cell.paths["labels"], unit, cell.protocol, resample=True)
    for name, language, value, n, again in scores[_SCORE].itertuples(index=False, name=None):
        is_pooled, more = language == ALL_LANGUAGES, {RESAMPLED: again}
        more |= {} if is_pooled else {"artifact": by_language, "target": language}
        if name == headline:
            yield _row(cell, "macro_f1_label", value, n, **more)
        elif name.endswith("accuracy"):
            yield _row(cell, name.removeprefix("token_"), value, n, **more)
        elif is_pooled and "macro" in name:
            yield _row(cell, f"{name}_label", value, n, **more)
        if is_pooled and name == footnote and cell.condition == "fine_tuned":
            yield _row(cell, name_there, value, n, **more, artifact="footnote6")


def _language_scores(cell: Cell) -> Iterator[dict[str, Any]]:
    unit = _unit(cell)
    # Every subword counts for language identification, whatever word it belongs to.
    scores = prediction_scores(cell.paths["languages"], unit, "published", resample=True)
    entropies = read_json(cell.paths["training"])[cell.protocol]["entropy"]
    for dataset in ("target", "wikipedia"):
        some = scores[scores["dataset"] == dataset]
        pooled = some[some["language"] == ALL_LANGUAGES]
        for name, _, value, n, again in pooled[_SCORE].itertuples(index=False, name=None):
            metric = "macro_f1" if name == MACRO_F1[unit, cell.protocol] else name
            if "macro" in name or name.endswith("accuracy"):
                yield _row(cell, f"{metric}_language_{dataset}", value, n, **{RESAMPLED: again})
        n = int(pooled["n"].iloc[0])
        yield _row(cell, f"entropy_language_{dataset}", float(entropies[dataset]), n)


def _unit(cell: Cell) -> str:
    return "token" if cell.kind == "tagging" else "text"


def _row(cell: Cell, metric: str, value: float, n: int, **more: Any) -> dict[str, Any]:
    return cell.columns | {"metric": metric, "value": value, "n": n, **more}


def measure_clusters(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Yield the rows of Table 3 and of the captions of Figures 3 and 4, in percent.

    ``clustering_*``, which claims are about, is V-measure as ``published``, adjusted mutual
    information as ``corrected``: V-measure grows with the number of classes, so that labels and
    languages cannot be compared by it.

    Cells have the file ``clusters`` of :func:`mbert_atlas.analysis.projection.cluster_sample`.
    """
    for cell in cells:
        for classes, by_protocol in read_json(cell.paths["clusters"]).items():
            agreement = by_protocol[cell.protocol]
            for name in ("v_measure", "ami", "v_measure_chance"):
                row = _row(cell, f"{name}_{classes}", 100 * agreement[name], int(agreement["n"]))
                yield row
                if name == _CLUSTERING[cell.protocol]:
                    yield row | {"metric": f"clustering_{classes}"}


def list_choices(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Yield the rows of Table 5: the numbers that the best draw of each search sets, and its score.

    Cells have the file of :func:`mbert_atlas.analysis.scores.choose_hyperparameters`.
    """
    for cell in cells:
        choice = read_json(cell.path)
        for key, value in choice["values"].items():
            name = _HYPERPARAMETERS.get(key, key.rpartition(".")[2])
            name = _WEIGHTS[cell.condition] if key == "confusion.weight" else name
            if type(value) in (int, float):
                yield cell.columns | {"metric": name, "value": value}
        yield cell.columns | {"metric": "dev_f1", "value": choice["score"]}


def count_examples(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Yield the rows of appendix A: examples by task and part, those with [UNK] left out.

    Each cell is a token store, its part the ``condition`` unless the store has splits. Of its facts
    ``languages`` limits what counts, and ``selection`` splits training data, see
    :class:`mbert_atlas.config.methods.selection.Selection`; the held-out part is ``val``.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        counts.update({(cell.task, part): n for part, n in _parts(cell).items() if n})
    for (task, part), n in counts.items():
        yield {"task": task, "condition": part, "value": n}


def _parts(cell: Cell) -> Mapping[str, int]:
    store = load_arrays(Path(cell.path))
    if "split" in store.arrays:
        names = {"validation": "val"}
        return Counter(names.get(name, name) for name in store.dense("split").tolist())
    languages = store.dense("language")
    if (counted := cell.facts.get("languages")) is not None:
        languages = languages[np.isin(languages, list(counted))]
    if not (selection := cell.facts.get("selection")):
        return {cell.condition: len(languages)}
    split = Selection.model_validate(selection)
    held = int(held_out(languages, split.fraction, split.seed).sum())
    return {cell.condition: len(languages) - held, "val": held}


def count_points(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Yield the rows of appendix B: points in the samples of each task, and of Wikipedia.

    Cells have the file ``clusters`` of any experiment of each task.
    """
    counts: dict[str, int] = {}
    for cell in cells:
        agreement = read_json(cell.paths["clusters"])
        counts[cell.task] = int(agreement["label"]["published"]["n"])
        counts["wikipedia"] = int(agreement["language_wikipedia"]["published"]["n"])
    for task, n in counts.items():
        yield {"task": task, "value": n}

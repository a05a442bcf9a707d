"""Extractive question answering: which span of the context answers the question?"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch.nn import functional

from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.batching import Indices
from mbert_atlas.encoding.questions import OUTPUTS
from mbert_atlas.schemas import SPAN_PREDICTIONS
from mbert_atlas.tasks.base import Batch, CrossEntropy, EncodedExamples, Task, Weight

N_BEST = 20
MAX_ANSWER_LENGTH = 30
ENGLISH = "en"
_WINDOWS_AT_A_TIME = 1024


class SpanExamples(EncodedExamples):
    """Windows, each with the places of its span's first and last token."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.label_counts = self.lengths

    def guessing_loss(self) -> float:
        """Return the loss if all tokens of a window are equally good."""
        return float(np.log(self.lengths).mean())

    def collate(self, indices: Indices) -> Batch:
        """Return the padded tokens, token types, ``positions`` and ``labels``.

        Positions are the places of all tokens in the flattened (b * l) batch, int64, ``(m,)``;
        labels are places of start and end in the window, int64, ``(b, 2)``.
        """
        batch = super().collate(indices)
        labels = self.store.dense("labels")[self.rows[indices]].astype(np.int64)
        return {
            **batch,
            "token_type_ids": self.token_types(indices, batch["attention_mask"]),
            "positions": batch["attention_mask"].flatten().nonzero().squeeze(1),
            "labels": torch.from_numpy(labels),
        }


class SpanCrossEntropy(CrossEntropy):
    """Mean over windows of half the sum of two cross-entropies, of the start and of the end.

    Each is a choice among all tokens of the window, [CLS] and the question included, padding left
    out; the softmax is in fp32.
    """

    def weight(self, batch: Batch) -> float:
        """Return the number of windows."""
        return float(len(batch["labels"]))

    def loss(self, model: Any, batch: Batch, step_weight: Weight) -> torch.Tensor:
        """Return the summed loss of the windows over ``step_weight``."""
        logits = model(batch).float()
        windows, width = batch["attention_mask"].shape
        filled = logits.new_full((windows * width, len(OUTPUTS)), -torch.inf)
        filled = filled.index_copy(0, batch["positions"], logits)
        choices = filled.view(windows, width, -1).transpose(1, 2).flatten(0, 1)
        total = functional.cross_entropy(choices, batch["labels"].flatten(), reduction="sum")
        return total / (len(OUTPUTS) * step_weight)


class QuestionAnswering(Task):
    """A span of the context for every question (schemas.QA_EXAMPLES).

    The model's labels are its two outputs per token, ``start`` and ``end``. An example of a store
    is a window: a question with as much of its context as fits.
    """

    unit = "token"
    prediction_schema = SPAN_PREDICTIONS
    examples = SpanExamples
    objective = SpanCrossEntropy

    def targets(self, store: TokenStore) -> npt.NDArray[np.str_]:
        """Return the language of the context, or the question's if the context is English."""
        contexts = store.dense("language")
        questions = store.dense("question_language")[store.dense("example")]
        return np.where(contexts == ENGLISH, questions, contexts)

    def forward(self, model: Any, batch: Batch) -> torch.Tensor:
        """Return the logits of start and end of each token, float32, shape ``(tokens, 2)``."""
        logits: torch.Tensor = model(batch).float()
        return logits

    def decode(self, examples: EncodedExamples, outputs: Ragged, dataset: str) -> pa.Table:
        """Return the best span over all windows of each question, sliced out of its context.

        See :func:`best_spans`; of equal windows the first counts. Questions are in the order of the
        table. The prediction is empty where no window has a span.
        """
        store, rows = examples.store, examples.rows
        segment_start = store.dense("segment_start")[rows]
        scores, spans = best_spans(outputs, segment_start)
        example = store.dense("example")[rows]
        order = np.lexsort((rows, -scores, example))
        numbers, first = np.unique(example[order], return_index=True)
        best = order[first]

        context = store.dense("context")[numbers]
        subword = spans[best] + (store.dense("first_piece")[rows] - segment_start)[best][:, None]
        begin, end = store.ragged("piece_begin"), store.ragged("piece_end")
        begins = begin.values[begin.offsets[context] + subword[:, 0]]
        ends = end.values[end.offsets[context] + subword[:, 1]]
        texts, found = store.ragged("context_text"), np.isfinite(scores[best])
        predictions = [
            texts[number].tobytes().decode()[a:b] if is_found else ""
            for number, a, b, is_found in zip(context, begins, ends, found, strict=True)
        ]

        gold = store.ragged("answers")
        before = np.concatenate([[0], np.cumsum(store.dense("answer_counts"))])
        answers = [
            [gold[answer].tobytes().decode() for answer in range(*before[n : n + 2])]
            for n in numbers
        ]
        windows = rows[best]
        columns = {
            "dataset": [dataset] * len(numbers),
            "language": store.dense("language")[windows],
            "question_language": store.dense("question_language")[numbers],
            "example_id": store.dense("example_id")[windows],
            "gold": answers,
            "prediction": predictions,
        }
        return pa.table(columns, self.prediction_schema)


def best_spans(
    outputs: Ragged,
    segment_start: npt.NDArray[np.integer[Any]],
    *,
    n_best: int = N_BEST,
    max_answer_length: int = MAX_ANSWER_LENGTH,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Find the best span of each window by n-best decoding, as in BERT's and run_qa.py's.

    Candidates are all pairs of one of the ``n_best`` highest starts and one of the ``n_best``
    highest ends, both in the window's context, the start not after the end and the span not too
    long. Tokens of the question and special tokens are ranked, too, and rejected afterwards, so
    that a window may be left without a candidate. The highest sum of the two logits wins; of equal
    ones the higher start, then the higher end, then the earlier.

    ``outputs`` are the logits of start and end of each token, ``(tokens, 2)``; the context begins
    at ``segment_start`` of a window and ends before its last token, [SEP].

    Returns:
        The best sum of each window, float32, shape ``(windows,)``, -inf without a candidate; and
        the places of its first and last token, int64, shape ``(windows, 2)``, then both
        ``segment_start``.
    """
    count = len(outputs)
    scores = np.empty(count, dtype=np.float32)
    spans = np.empty((count, 2), dtype=np.int64)
    sides = [Ragged(outputs.values[:, side], outputs.offsets) for side in (0, 1)]
    lengths = outputs.lengths
    for first in range(0, count, _WINDOWS_AT_A_TIME):
        rows = np.arange(first, min(first + _WINDOWS_AT_A_TIME, count))
        starts, ends = (
            _highest(side, rows, segment_start[rows], lengths[rows] - 1, n_best) for side in sides
        )
        # score = start logit + end logit of all pairs, -inf where not allowed. With the best starts
        # 4 2 (3.0, 1.0) and ends 3 5 (2.0, 0.5): 4-3 is backward, 4-5 3.5, 2-3 3.0, 2-5 1.5.
        distance = ends[0][:, None, :] - starts[0][:, :, None]
        allowed = (distance >= 0) & (distance < max_answer_length)
        sums = np.where(allowed, starts[1][:, :, None] + ends[1][:, None, :], -np.inf)
        pair = sums.reshape(len(rows), -1).argmax(axis=1)
        local, (start, end) = np.arange(len(rows)), np.divmod(pair, ends[0].shape[1])
        scores[rows] = sums[local, start, end]
        spans[rows] = np.stack([starts[0][local, start], ends[0][local, end]], axis=1)
    return scores, np.where(np.isfinite(scores)[:, None], spans, segment_start[:, None])


def _highest(
    logits: Ragged,
    rows: Indices,
    begin: npt.NDArray[np.integer[Any]],
    end: npt.NDArray[np.integer[Any]],
    count: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Return places and values of the highest logits of each row.

    Both have the shape ``(rows, count)``; values not between ``begin`` and ``end`` are -inf.
    """
    padded = logits.padded(rows, -np.inf, np.float32)
    # A stable sort: equal logits, frequent in bf16, keep their order on every machine.
    places = np.argsort(-padded, axis=1, kind="stable")[:, :count]
    inside = (places >= begin[:, None]) & (places < end[:, None])
    return places, np.where(inside, np.take_along_axis(padded, places, axis=1), -np.inf)

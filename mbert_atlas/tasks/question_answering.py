"""Extractive question answering: which span of the context answers the question?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch.nn import functional

from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.encoders.loading import load_tokenizer
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.schemas import SPAN_PREDICTIONS
from mbert_atlas.tasks.base import (
    Batch,
    CrossEntropy,
    EncodedExamples,
    Indices,
    Task,
    in_chunks,
    require_columns,
    row_name,
    write_store,
)

StrideIs = Literal["overlap", "step"]
OUTPUTS = ("start", "end")
N_BEST = 20
MAX_ANSWER_LENGTH = 30
ENGLISH = "en"
_SPECIAL = 3  # [CLS] question [SEP] context [SEP]
_CLS = 0
_WINDOWS_AT_A_TIME = 1024
_COLUMNS = ("id", "language", "question_language", "context", "question")
_ANSWER_COLUMNS = ("answer_text", "answer_start")


class QuestionAnswering(Task):
    """A span of the context for every question (schemas.QA_EXAMPLES).

    The model's labels are its two outputs per piece, ``start`` and ``end``. What a store calls an
    example is a window: a question with as much of its context as fits.
    """

    name = "question_answering"
    unit = "token"
    prediction_schema = SPAN_PREDICTIONS

    def encode(
        self,
        table: pa.Table,
        tokenizer_dir: Path | str,
        output: Path | str,
        *,
        labels: Sequence[str] = OUTPUTS,
        max_length: int = 384,
        drop_unknown: bool = False,
        origin: Path | str = "examples",
        doc_stride: int = 128,
        stride_is: StrideIs = "overlap",
    ) -> None:
        """Write a table as a token store of windows; see :meth:`Task.encode`.

        A window is ``[CLS] question [SEP] part of the context [SEP]``, with BERT's special pieces.
        Windows of one context follow each other; the last one holds the rest. Parallel to the
        windows the store holds ``segment_start`` (int32: place of the first context piece),
        ``labels`` (int32, shape ``(windows, 2)``: the first and last piece that the first answer
        touches if the window holds both, else 0, the place of [CLS]), ``first_piece`` (int32: which
        piece of the context stands at ``segment_start``) and ``example`` (int32: number of the
        question). Per question it holds ``context`` (int32), ``question_language`` and
        ``answer_counts`` (int32); per answer ``answers`` (UTF-8, ragged uint8); per distinct
        context ``context_text`` (UTF-8, ragged uint8) and its pieces' ``piece_begin`` and
        ``piece_end`` (ragged int32, characters).

        A question that would leave the context fewer than ``doc_stride`` + 1 pieces is cut. Counted
        in ``meta.json`` under ``dropped`` are these, questions that are left out because their
        context has no piece (or, with ``drop_unknown``, because of [UNK]), and first answers that
        no window holds whole, that touch no piece, or that differ from the context at their offset;
        the last two have no span in training.

        Args:
            table: questions with ``id``, ``language``, ``question_language``, ``context``,
                ``question``, ``answer_text`` and ``answer_start``.
            tokenizer_dir: folder of the fast tokenizer.
            output: the store's folder.
            labels: the model's outputs; always ``start`` and ``end``.
            max_length: most pieces of a window, special ones included.
            drop_unknown: leave out questions with [UNK] in the question or the context.
            origin: where the table comes from, for messages.
            doc_stride: context pieces that neighbouring windows share (``overlap``, as Hugging
                Face's run_qa.py and with it efimov2022's code) or that lie between their beginnings
                (``step``, as BERT's run_squad.py).
            stride_is: which of the two.

        Raises:
            DataError: if a column is missing, answers and offsets differ in number, an offset lies
                outside the context or nothing is left.
            AtlasError: if ``labels`` are others or ``max_length`` is too small for ``doc_stride``.
        """
        if tuple(labels) != OUTPUTS:
            raise AtlasError(
                f"question answering has the outputs {' and '.join(OUTPUTS)}, not "
                f"{', '.join(labels)}; leave its labels out."
            )
        longest_question = max_length - _SPECIAL - doc_stride - 1
        if doc_stride < (stride_is == "step") or longest_question < 1:
            raise AtlasError(
                f"windows of {max_length} pieces with doc_stride {doc_stride} leave no room for "
                "the question; choose a larger max_length or a doc_stride between 1 and "
                f"{max(1, max_length - _SPECIAL - 2)}."
            )
        require_columns(table, [*_COLUMNS, *_ANSWER_COLUMNS], origin)
        answers = _first_answers(table, origin)
        tokenizer = load_tokenizer(tokenizer_dir)
        distinct = table.column("context").combine_chunks().dictionary_encode()
        context_of = distinct.indices.to_numpy()
        texts = distinct.dictionary
        title = f"encoding {Path(output).name}"
        contexts = _Pieces.of(texts, tokenizer, f"{title}, contexts")
        questions = _Pieces.of(
            table.column("question").combine_chunks(), tokenizer, f"{title}, questions"
        )

        dropped: Counter[str] = Counter()
        kept: list[int] = []  # rows of the table, one per question
        windows = _Windows(tokenizer.cls_token_id, tokenizer.sep_token_id)
        for row in range(table.num_rows):
            question = questions.ids[row]
            context = contexts.ids[context_of[row]]
            unknown = (question == tokenizer.unk_token_id).any() or (
                context == tokenizer.unk_token_id
            ).any()
            if drop_unknown and unknown:
                dropped["question_with_unknown_piece"] += 1
                continue
            if len(context) == 0:
                dropped["context_without_pieces"] += 1
                continue
            dropped["question_cut"] += len(question) > longest_question
            question = question[:longest_question]
            span = None
            if (answer := answers[row]) is not None:
                number = context_of[row]
                span = contexts.touched(number, answer.begin, answer.end)
                if answer.differs:
                    dropped["answer_differs_from_context"] += 1
                    span = None
                elif span is None:
                    dropped["answer_without_pieces"] += 1
            room = max_length - _SPECIAL - len(question)
            step = doc_stride if stride_is == "step" else room - doc_stride
            held = windows.add(len(kept), question, context, room, step, span)
            dropped["answer_in_no_window"] += span is not None and not held
            kept.append(row)
        questions_kept = table.take(pa.array(kept, pa.int64()))
        gold = questions_kept.column("answer_text").combine_chunks()
        write_store(
            self.name,
            table,
            [kept[example] for example in windows.example],
            {
                "input_ids": Ragged.from_rows(windows.input_ids, np.int32),
                "segment_start": np.array(windows.segment_start, dtype=np.int32),
                "labels": np.array(windows.labels, dtype=np.int32).reshape(-1, 2),
                "first_piece": np.array(windows.first_piece, dtype=np.int32),
                "example": np.array(windows.example, dtype=np.int32),
                "context": context_of[kept].astype(np.int32),
                "question_language": np.array(
                    questions_kept.column("question_language").to_pylist(), dtype=np.str_
                ),
                "answer_counts": pc.list_value_length(gold).to_numpy().astype(np.int32),
                "answers": _as_bytes(pc.list_flatten(gold).to_pylist()),
                "context_text": _as_bytes(texts.to_pylist()),
                "piece_begin": contexts.begin,
                "piece_end": contexts.end,
            },
            tokenizer_dir,
            output,
            labels=labels,
            options={
                "max_length": max_length,
                "drop_unknown": drop_unknown,
                "doc_stride": doc_stride,
                "stride_is": stride_is,
            },
            dropped=dropped,
        )

    def targets(self, store: TokenStore) -> npt.NDArray[np.str_]:
        """Return the language of the context, or the question's if the context is English."""
        contexts = store.dense("language")
        questions = store.dense("question_language")[store.dense("example")]
        return np.where(contexts == ENGLISH, questions, contexts)

    def examples(
        self, store: TokenStore, rows: Indices | None = None, *, pad_multiple: int = 1
    ) -> SpanExamples:
        """Open encoded windows for training or prediction, all of them or only ``rows``."""
        return SpanExamples(store, rows, pad_multiple=pad_multiple)

    def objective(self) -> SpanCrossEntropy:
        """Return the mean of the cross-entropies of the span's start and of its end."""
        return SpanCrossEntropy()

    def forward(self, model: Any, batch: Batch) -> torch.Tensor:
        """Return the logits of start and end of each piece, float32, shape ``(pieces, 2)``."""
        logits: torch.Tensor = model(batch).float()
        return logits

    def decode(
        self, examples: EncodedExamples, outputs: Ragged, labels: Sequence[str], dataset: str
    ) -> pa.Table:
        """Return the best span over all windows of each question, sliced out of its context.

        See :func:`best_spans`; of equally good windows the first counts. Questions come in the
        order of the table. The prediction is empty where no window has a span.
        """
        store, rows = examples.store, examples.rows
        segment_start = store.dense("segment_start")[rows]
        scores, spans = best_spans(outputs, segment_start)
        example = store.dense("example")[rows]
        order = np.lexsort((rows, -scores, example))
        numbers, first = np.unique(example[order], return_index=True)
        best = order[first]

        context = store.dense("context")[numbers]
        piece = spans[best] + (store.dense("first_piece")[rows] - segment_start)[best][:, None]
        begin, end = store.ragged("piece_begin"), store.ragged("piece_end")
        begins = begin.values[begin.offsets[context] + piece[:, 0]]
        ends = end.values[end.offsets[context] + piece[:, 1]]
        texts, found = store.ragged("context_text"), np.isfinite(scores[best])
        cache: dict[int, str] = {}
        predictions = []
        for number, a, b, is_found in zip(context.tolist(), begins, ends, found, strict=True):
            if number not in cache:
                cache = {number: texts[number].tobytes().decode()}  # questions on one text are near
            predictions.append(cache[number][a:b] if is_found else "")

        gold = store.ragged("answers")
        before = np.concatenate([[0], np.cumsum(store.dense("answer_counts"))])
        windows = rows[best]
        columns = [
            pa.array([dataset] * len(numbers), pa.string()),
            pa.array(store.dense("language")[windows], pa.string()),
            pa.array(store.dense("question_language")[numbers], pa.string()),
            pa.array(store.dense("example_id")[windows], pa.string()),
            pa.array(
                [
                    [gold[answer].tobytes().decode() for answer in range(*before[n : n + 2])]
                    for n in numbers
                ],
                pa.list_(pa.string()),
            ),
            pa.array(predictions, pa.string()),
        ]
        return pa.Table.from_arrays(columns, schema=self.prediction_schema)


def best_spans(
    outputs: Ragged,
    segment_start: npt.NDArray[np.integer[Any]],
    *,
    n_best: int = N_BEST,
    max_answer_length: int = MAX_ANSWER_LENGTH,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Find the best span of each window by n-best decoding, as in BERT's and run_qa.py's.

    Candidates are all pairs of one of the ``n_best`` highest starts and one of the ``n_best``
    highest ends of the window's context, the start not behind the end and the span not too long.
    The highest sum of the two logits wins; of equal ones the higher start, then the higher end,
    then the earlier. BERT's and run_qa.py rank the question's and the special pieces, too, and
    refuse them afterwards, so that they may be left without a candidate.

    Args:
        outputs: logits of start and end, rows parallel to the windows' pieces, values of shape
            ``(pieces, 2)``.
        segment_start: place of each window's first context piece, shape ``(windows,)``; the last
            piece of a window is [SEP].
        n_best: how many starts and ends are paired.
        max_answer_length: most pieces of a span.

    Returns:
        The best sum of each window, float32, shape ``(windows,)``, -inf without a candidate; and
        the places of its first and last piece, int64, shape ``(windows, 2)``, then both
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
    """Return places and values of the highest logits between ``begin`` and ``end``.

    Both have the shape ``(rows, count)``; the values of places outside are -inf.
    """
    padded = logits.padded(rows, -np.inf, np.float32)
    columns = np.arange(padded.shape[1])
    inside = (columns >= begin[:, None]) & (columns < end[:, None])
    padded[~inside] = -np.inf
    # A stable sort: equal logits, which bf16 gives often, keep their order on every machine.
    places = np.argsort(-padded, axis=1, kind="stable")[:, :count]
    return places, np.take_along_axis(padded, places, axis=1)


class SpanExamples(EncodedExamples):
    """Windows, each with the places of its span's first and last piece."""

    def __init__(
        self, store: TokenStore, rows: Indices | None = None, *, pad_multiple: int = 1
    ) -> None:
        super().__init__(store, rows, pad_multiple=pad_multiple)
        self.label_counts = self.lengths

    def collate(self, indices: Indices) -> Batch:
        """Return the padded pieces, token types, ``positions`` and ``labels``.

        Positions are the places of all pieces in the flattened (b * l) batch, int64, ``(m,)``;
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

    Each is a choice among all pieces of the window, [CLS] and the question included, padding left
    out; the softmax is in fp32.
    """

    def loss(self, model: Any, batch: Batch, step_weight: float) -> torch.Tensor:
        """Return the summed loss of the windows over ``step_weight``."""
        logits = model(batch).float()
        windows, width = batch["attention_mask"].shape
        filled = logits.new_full((windows * width, len(OUTPUTS)), -torch.inf)
        filled = filled.index_copy(0, batch["positions"], logits)
        choices = filled.view(windows, width, -1).transpose(1, 2).flatten(0, 1)
        total = functional.cross_entropy(choices, batch["labels"].flatten(), reduction="sum")
        return total / (len(OUTPUTS) * step_weight)


@dataclass(frozen=True)
class _Pieces:
    """Texts as pieces without special ones: ids, and their first and past-last characters."""

    ids: Ragged
    begin: Ragged
    end: Ragged

    @classmethod
    def of(cls, texts: pa.Array, tokenizer: Any, description: str) -> _Pieces:
        ids: list[Sequence[int]] = []
        offsets: list[npt.NDArray[np.int32]] = []
        for _, part in in_chunks(pa.table({"text": texts}), description):
            encoded = tokenizer(
                part.column("text").to_pylist(),
                add_special_tokens=False,
                return_offsets_mapping=True,
                return_token_type_ids=False,
                return_attention_mask=False,
                verbose=False,  # that a text is longer than the encoder takes is what windows mend
            )
            ids += encoded["input_ids"]
            offsets += (
                np.array(pairs, dtype=np.int32).reshape(-1, 2)
                for pairs in encoded["offset_mapping"]
            )
        begin, end = ([pairs[:, side] for pairs in offsets] for side in (0, 1))
        return cls(*(Ragged.from_rows(rows, np.int32) for rows in (ids, begin, end)))

    def touched(self, text: int, begin: int, end: int) -> tuple[int, int] | None:
        """Return the first and last piece of a text that touch its characters, None if none do."""
        first = int(np.searchsorted(self.end[text], begin, side="right"))
        last = int(np.searchsorted(self.begin[text], end, side="left")) - 1
        return (first, last) if first <= last else None


class _Windows:
    """What grows window by window."""

    def __init__(self, cls_id: int, sep_id: int) -> None:
        self.cls_id, self.sep_id = cls_id, sep_id
        self.input_ids: list[npt.NDArray[np.int32]] = []
        self.segment_start: list[int] = []
        self.labels: list[tuple[int, int]] = []
        self.first_piece: list[int] = []
        self.example: list[int] = []

    def add(
        self,
        example: int,
        question: npt.NDArray[np.int32],
        context: npt.NDArray[np.int32],
        room: int,
        step: int,
        span: tuple[int, int] | None,
    ) -> bool:
        """Add the windows of one question; return whether one of them holds the whole span."""
        before, held = len(question) + 2, False
        for first in range(0, max(1, len(context) - room + step), step):
            part = context[first : first + room]
            labels = (_CLS, _CLS)
            if span is not None and first <= span[0] and span[1] < first + len(part):
                labels = (span[0] - first + before, span[1] - first + before)
                held = True
            self.input_ids.append(
                np.concatenate([[self.cls_id], question, [self.sep_id], part, [self.sep_id]])
            )
            self.segment_start.append(before)
            self.labels.append(labels)
            self.first_piece.append(first)
            self.example.append(example)
        return held


class _Answer(NamedTuple):
    """The first answer to a question: its characters, and whether others stand there."""

    begin: int
    end: int
    differs: bool


def _first_answers(table: pa.Table, origin: Path | str) -> list[_Answer | None]:
    """Return the first answer of each row, None where there is none."""
    lengths = [pc.list_value_length(table.column(name)) for name in _ANSWER_COLUMNS]
    if (row := pc.index(pc.not_equal(*lengths), True).as_py()) >= 0:
        raise DataError(
            origin,
            row_name(table, row),
            f"{lengths[0][row]} answers but {lengths[1][row]} offsets",
            "remake the table",
        )
    found: list[_Answer | None] = []
    columns = (table.column(name).to_pylist() for name in ("context", *_ANSWER_COLUMNS))
    for row, (context, texts, starts) in enumerate(zip(*columns, strict=True)):
        if not texts:
            found.append(None)
            continue
        begin, end = starts[0], starts[0] + len(texts[0])
        if not 0 <= begin <= end <= len(context):
            raise DataError(
                origin,
                row_name(table, row),
                f"the answer lies at characters {begin} to {end} of a context of {len(context)}",
                "correct the offset, which counts characters, not bytes",
            )
        found.append(_Answer(begin, end, differs=context[begin:end] != texts[0]))
    return found


def _as_bytes(texts: Iterable[str]) -> Ragged:
    """Pack strings as UTF-8, ragged uint8."""
    return Ragged.from_rows(
        [np.frombuffer(text.encode(), dtype=np.uint8) for text in texts], np.uint8
    )

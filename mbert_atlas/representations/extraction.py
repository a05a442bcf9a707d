"""Hidden states of a token store on disk: texts, words or tokens of any layers in one pass.

The output is a token store with the dense array ``vectors`` of shape ``(layers, n, dims)``,
float16, memory-mapped when opened; ``meta.json`` records layers and pooling.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mbert_atlas.arrays import Ragged, TokenStore, create_array, load_arrays
from mbert_atlas.encoders.hidden_states import IntArray, number_of_layers, span_vectors
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoders.precision import default_device
from mbert_atlas.encoding.lone_symbols import begins_of_words, with_characters
from mbert_atlas.encoding.tags import NO_LABEL, NO_WORD
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import atomic_directory, write_json
from mbert_atlas.representations.reading import Unit
from mbert_atlas.tokenizer import require_tokenizer

Pooling = Literal["cls", "pooler", "first", "characters", "last", "mean"]
Layers = Literal["all", "last"] | Sequence[int]
Spans = tuple[IntArray, IntArray, IntArray]
"""Row of each span, its first token, and one past its last."""


def extract_features(
    *,
    encoder: Path,
    store: Path,
    output: Path,
    pooling: Pooling = "pooler",
    unit: Unit | None = None,
    layers: Layers = "last",
    splits: Collection[str] | None = None,
    languages: Collection[str] | None = None,
) -> None:
    """Write the vectors of texts, words or tokens, by default the input of a classifier.

    The encoder runs in fp32, as distances and probes are sensitive to rounding, over a store of
    :func:`mbert_atlas.encoding.encode`; :func:`mbert_atlas.representations.reading.read_features`
    opens the output. ``pooling`` is the first (``characters``: the first that has any, see
    :mod:`mbert_atlas.encoding.lone_symbols`), last or mean of the subwords of a word, or of those
    of a text between [CLS] and [SEP]; of a text also the state of [CLS] or the pooler's output.
    Units are whole texts; words; or tokens, the labelled ones, which have characters; none: the
    unit that has labels.
    Layer 0 is the embeddings. Only examples of the ``splits``, where the store has some, and
    ``languages`` are kept; none for all.

    Raises a DataError if nothing is left, a text has no token, or the encoder lacks what is
    requested; an AtlasError if words are pooled in a way that suits texts only.
    """
    model, stored = open_both(encoder, store)
    unit = unit or ("token" if isinstance(stored.arrays.get("labels"), Ragged) else "text")
    if unit == "token":
        stored = with_characters(stored)
    numbers = _layer_numbers(encoder, model, layers, unit == "text" and pooling == "pooler")
    spans, arrays = _select(store, stored, unit, pooling, splits, languages)
    shape = (len(numbers), len(spans[0]), int(model.config.hidden_size))
    meta = {
        "labels": list(stored.meta.get("labels", [])),
        "unit": unit,
        "pooling": None if unit == "token" else pooling,
        "layers": numbers,
    }
    with writing_vectors(output, shape, arrays, meta) as vectors:
        span_vectors(
            model,
            stored.ragged("input_ids"),
            *spans,
            aggregation="first" if pooling in ("cls", "characters") or unit == "token" else pooling,
            layers=numbers,
            out=vectors,
            segment_start=_segment_starts(stored, model),
            description=f"{unit}s of {store.name}",
        )


def open_both(encoder: Path, store: Path) -> tuple[Any, TokenStore]:
    """Open an encoder in fp32, on the device, and a token store made with its tokenizer."""
    stored = load_arrays(store)
    require_tokenizer(store, stored.meta.get("tokenizer"), encoder)
    return load_encoder(encoder).to(default_device()), stored


@contextmanager
def writing_vectors(
    output: Path,
    shape: tuple[int, ...],
    arrays: Mapping[str, npt.NDArray[Any]],
    meta: Mapping[str, Any],
) -> Iterator[npt.NDArray[np.floating[Any]]]:
    """Yield the vectors of a token store, float16, to fill; on success the store is written.

    The other ``arrays`` have to be complete at the end of the block.
    """
    with atomic_directory(output) as folder:
        vectors = create_array(folder / "vectors.npy", "float16", shape)
        yield vectors
        vectors.flush()
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
        write_json({"arrays": sorted(["vectors", *arrays]), **meta}, folder / "meta.json")


def _layer_numbers(encoder: Path, model: Any, layers: Layers, pooler: bool) -> list[int]:
    count = number_of_layers(model)
    named = {"all": list(range(count)), "last": [count - 1]}
    numbers = named[layers] if isinstance(layers, str) else [int(layer) for layer in layers]
    where = f"layers {numbers}"
    if not numbers or not set(numbers) <= set(named["all"]):
        problem = f"the encoder has hidden states 0 to {count - 1}"
        raise DataError(encoder, where, problem, "choose some of these")
    if pooler and getattr(model, "pooler", None) is None:
        raise DataError(encoder, "", "the encoder has no pooler", "pool by cls or mean")
    if pooler and numbers != named["last"]:
        problem = "the pooler belongs to the last layer only"
        raise DataError(encoder, where, problem, "choose the last layer, or pool by cls or mean")
    return numbers


def _select(
    path: Path,
    stored: TokenStore,
    unit: Unit,
    pooling: Pooling,
    splits: Collection[str] | None,
    languages: Collection[str] | None,
) -> tuple[Spans, dict[str, npt.NDArray[Any]]]:
    """Return the spans that are pooled, and the other arrays of the output."""
    ids = stored.ragged("input_ids")
    names = [name for name in ("example_id", "language", "split") if name in stored.arrays]
    by_example = {name: stored.dense(name) for name in names}
    kept = np.ones(len(ids), dtype=bool)
    if splits is not None and "split" in by_example:
        kept &= np.isin(by_example["split"], list(splits))
    if languages is not None:
        kept &= np.isin(by_example["language"], list(languages))
    row, begin, end = _spans(stored, unit, pooling)
    inside = kept[row]
    row, begin, end = row[inside], begin[inside], end[inside]
    labelled = begin
    if pooling == "characters":
        begin = begins_of_words(stored, begin)
    if len(row) == 0:
        where = "" if splits is None else f" of the splits {', '.join(sorted(splits))}"
        if languages is not None:
            where += f" in the languages {', '.join(sorted(languages))}"
        raise DataError(path, "", f"there is no {unit}{where}", "encode other examples")
    if unit == "text" and (ids.lengths[row] < 3).any():
        empty = int(row[np.argmax(ids.lengths[row] < 3)])
        raise DataError(path, f"row {empty}", "the text has no token", "leave out empty texts")
    examples, example = np.unique(row, return_inverse=True)
    labels, of_spans = stored.arrays.get("labels"), np.full(len(row), NO_LABEL)
    if isinstance(labels, Ragged) and unit != "text":
        of_spans = labels.values[labelled]
    elif isinstance(labels, np.ndarray) and labels.ndim == 1:
        of_spans = labels[row]
    arrays = {name: values[examples] for name, values in by_example.items()}
    arrays |= {"example": example.astype(np.int32), "labels": of_spans.astype(np.int32)}
    return (row, begin - ids.offsets[row], end - ids.offsets[row]), arrays


def _spans(stored: TokenStore, unit: Unit, pooling: Pooling) -> Spans:
    """List all texts, words or tokens; tokens are numbered through all rows."""
    # input_ids   [CLS] a ##b c [SEP] | [CLS] d [SEP]    text: 1-4, 6-7; cls: 0-4, 5-7
    # words        -1   0  0  1  -1   |  -1   0  -1      word: 1-3, 3-4, 6-7
    # labels      -100  2 -100 1 -100 | -100  0 -100     token: 1-2, 3-4, 6-7
    ids = stored.ragged("input_ids")
    if unit == "text":
        begin = ids.offsets[:-1] + (pooling != "cls")
        return np.arange(len(ids)), begin, ids.offsets[1:] - 1
    row = np.repeat(np.arange(len(ids)), ids.lengths)
    if unit == "word":
        if pooling in ("cls", "pooler"):
            raise AtlasError(f"words cannot be pooled by {pooling}; take first, last or mean.")
        words = stored.ragged("words").values
        changes = np.flatnonzero((np.diff(words) != 0) | (np.diff(row) != 0)) + 1
        begin, end = np.concatenate([[0], changes]), np.append(changes, len(words))
        is_word = words[begin] != NO_WORD
        return row[begin[is_word]], begin[is_word], end[is_word]
    begin = np.flatnonzero(stored.ragged("labels").values != NO_LABEL)
    return row[begin], begin, begin + 1


def _segment_starts(stored: TokenStore, model: Any) -> IntArray | None:
    """Return where second texts begin, if the encoder has token types for first and second ones."""
    if "segment_start" not in stored.arrays or getattr(model.config, "type_vocab_size", 1) < 2:
        return None
    has_types = stored.meta["options"].get("segment_ids", True)
    return stored.dense("segment_start") if has_types else None

"""The columns of every Parquet file that the workflow writes."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

_TEXT, _WORDS = pa.string(), pa.list_(pa.string())
_INT, _LONG, _INTS = pa.int32(), pa.int64(), pa.list_(pa.int32())
_FLOAT, _DOUBLE = pa.float32(), pa.float64()


def _texts(*names: str) -> Mapping[str, pa.DataType]:
    """Return columns of strings."""
    return dict.fromkeys(names, _TEXT)


# Corpora

PARAGRAPHS = pa.schema({**_texts("id", "language"), "page_id": _LONG, **_texts("title", "text")})
# A feature of WALS, such as 81A, with the name of its value, such as "1 SVO" in the older tables.
TYPOLOGY = pa.schema(_texts("language", "feature", "value"))
DICTIONARY = pa.schema(_texts("source", "target"))  # the source is English
# The split is train, validation, dev or test.
LID_EXAMPLES = pa.schema(_texts("id", "language", "split", "text"))
SENTENCES = pa.schema(
    {
        **_texts("id", "language", "treebank", "split", "text"),
        **{"forms": _WORDS, "upos": _WORDS},
        "heads": _INTS,  # 1-based, 0 is the root
        "deprels": _WORDS,
    }
)
# The label is entailment, neutral or contradiction.
NLI_PAIRS = pa.schema(_texts("id", "language", "split", "premise", "hypothesis", "label", "genre"))
TAGGED_SENTENCES = pa.schema(
    {
        **_texts("id", "language", "split"),
        "forms": _WORDS,
        "ner_tags": _WORDS,  # IOB2: O, B-PER, I-PER, B-LOC, ...
    }
)
QA_EXAMPLES = pa.schema(
    {
        # The language is that of the context.
        **_texts("id", "language", "question_language", "split", "context", "question"),
        "answer_text": _WORDS,  # several answers allowed
        "answer_start": _INTS,  # offset in characters (code points)
    }
)
BITEXT = pa.schema(
    {
        "id": _TEXT,
        "source_tokens": _WORDS,  # English
        "target_tokens": _WORDS,
        "score": _FLOAT,  # margin score where the source has one
    }
)
WORD_PAIRS = pa.schema(
    {
        **{"id": _TEXT, "source_tokens": _WORDS, "target_tokens": _WORDS},
        "source_index": pa.list_(pa.int16()),  # word source_index[k] goes with target_index[k]
        "target_index": pa.list_(pa.int16()),
    }
)

# Predictions

_EXAMPLE = _texts("dataset", "language", "example_id")
CLASS_PREDICTIONS = pa.schema(
    {
        **_EXAMPLE,
        **_texts("gold", "prediction"),
        "probabilities": pa.list_(_FLOAT),  # in the order of the model's labels
    }
)
TAG_PREDICTIONS = pa.schema(
    {
        **_EXAMPLE,
        **{"gold": _WORDS, "prediction": _WORDS},  # one entry per labelled subword
        "words": _INTS,  # the subword's word in the sentence
    }
)
TREE_PREDICTIONS = pa.schema(
    {
        **_EXAMPLE,
        "gold_heads": _INTS,  # of all words, 1-based, 0 is the root
        "predicted_heads": _INTS,  # -1 where the encoder sees no subword of a word
        "gold_relations": _WORDS,
        "predicted_relations": _WORDS,  # then empty
    }
)
SPAN_PREDICTIONS = pa.schema(
    {
        # The language is that of the context.
        **_texts("dataset", "language", "question_language", "example_id"),
        "gold": _WORDS,  # the texts of all answers
        "prediction": _TEXT,
    }
)

# Measurements

LANGUAGE_PROBES = pa.schema(
    {
        "protocol": _TEXT,
        "method": _TEXT,  # densray or lda
        "layer": _INT,
        "kind": _TEXT,  # first, next, window, random, random_last or majority
        **{"start": _INT, "stop": _INT},  # columns [start:stop) of the projected space
        "metric": _TEXT,
        "value": _DOUBLE,  # percent
        "n": _LONG,  # test vectors, features, or languages
        "seed": _LONG,
    }
)
SUBSPACE_SCORES = pa.schema(
    {
        "method": _TEXT,  # densray or lda
        "first": _INT,  # removed directions; with 0 all methods have the same score
        **_texts("language", "metric"),
        "value": _DOUBLE,  # percent
        "n": _LONG,  # words
        "seed": _LONG,
    }
)
RETRIEVALS = pa.schema(
    {
        "layer": _INT,  # 0 for the embeddings, and for static vectors
        **_texts("source", "target"),  # languages of the queries and of the candidates
        "centred": pa.bool_(),  # the mean of each language's words is subtracted
        **{"mrr": _DOUBLE, "precision_at_1": _DOUBLE},  # 0 to 1
        **{"n": _LONG, "candidates": _LONG},  # source words, target words
        "without_context": _DOUBLE,  # fraction of the source words that were encoded alone
    }
)
WORD_DISTANCES = pa.schema(
    {
        "panel": _TEXT,  # which encoder
        "protocols": _WORDS,  # under which it is this encoder
        "kind": _TEXT,  # related or unrelated
        "distance": _FLOAT,  # L2
    }
)
PROJECTION = pa.schema(
    {
        "dataset": _TEXT,  # target or wikipedia
        **_texts("example_id", "language"),
        "label": _TEXT,  # null where the examples have none
        **{"x": _FLOAT, "y": _FLOAT},
    }
)
SIMILARITIES = pa.schema(
    {
        **_texts("protocol", "source", "target"),
        "layer": pa.int16(),  # 0 for the embeddings
        "measure": _TEXT,  # cka_linear, cka_linear_debiased, cka_linear_uncentred, cka_rbf
        "value": _DOUBLE,
        **{"low": _DOUBLE, "high": _DOUBLE},  # 95% interval, or standard deviation over windows
        "n": _INT,  # sentences
    }
)
TOKEN_TRANSLATIONS = pa.schema(
    {
        **_texts("source", "target"),
        "protocol": _TEXT,  # whose language means
        "part": _INT,  # number of the sentences' dataset
        "layer": _INT,  # the hidden state that was shifted
        "weight": _DOUBLE,  # of the shift
        "n": _LONG,  # sentences
        "corpus_bleu": _DOUBLE,  # BLEU-1 of all sentences together, 0 to 100
        "mean_bleu": _DOUBLE,  # mean BLEU-1 of the sentences
        "converted": _LONG,  # tokens that only the target language has
        "counted": _LONG,  # tokens without those that both languages have
        "samples": _WORDS,  # some of the resulting sentences
    }
)
SHIFTED_SCORES = pa.schema(
    {
        **_texts("dataset", "language", "protocol"),
        **{"layer": _INT, "weight": _DOUBLE, "right": _LONG, "n": _LONG},
    }
)
MEASUREMENT_COLUMNS = (
    *("paper", "artifact", "task", "model", "condition", "source", "target", "layers"),
    *("metric", "value", "protocol", "seed", "n"),
)

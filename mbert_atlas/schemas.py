"""The columns of every Parquet file that the workflow writes."""

from __future__ import annotations

import pyarrow as pa

_words = pa.list_(pa.string())

PARAGRAPHS = pa.schema(
    [
        ("id", pa.string()),
        ("language", pa.string()),
        ("page_id", pa.int64()),
        ("title", pa.string()),
        ("text", pa.string()),
    ]
)
TYPOLOGY = pa.schema(
    [
        ("language", pa.string()),
        ("feature", pa.string()),  # of WALS, such as 81A
        ("value", pa.string()),  # its name, such as "1 SVO" in the older tables
    ]
)
DICTIONARY = pa.schema(
    [
        ("source", pa.string()),  # English
        ("target", pa.string()),
    ]
)
LID_EXAMPLES = pa.schema(
    [
        ("id", pa.string()),
        ("language", pa.string()),
        ("split", pa.string()),  # train, validation, dev or test
        ("text", pa.string()),
    ]
)
SENTENCES = pa.schema(
    [
        ("id", pa.string()),
        ("language", pa.string()),
        ("treebank", pa.string()),
        ("split", pa.string()),
        ("text", pa.string()),
        ("forms", _words),
        ("upos", _words),
        ("heads", pa.list_(pa.int32())),  # 1-based, 0 is the root
        ("deprels", _words),
    ]
)
NLI_PAIRS = pa.schema(
    [
        ("id", pa.string()),
        ("language", pa.string()),
        ("split", pa.string()),
        ("premise", pa.string()),
        ("hypothesis", pa.string()),
        ("label", pa.string()),  # entailment, neutral or contradiction
        ("genre", pa.string()),
    ]
)
TAGGED_SENTENCES = pa.schema(
    [
        ("id", pa.string()),
        ("language", pa.string()),
        ("split", pa.string()),
        ("forms", _words),
        ("ner_tags", _words),  # IOB2: O, B-PER, I-PER, B-LOC, ...
    ]
)
QA_EXAMPLES = pa.schema(
    [
        ("id", pa.string()),
        ("language", pa.string()),  # of the context
        ("question_language", pa.string()),
        ("split", pa.string()),
        ("context", pa.string()),
        ("question", pa.string()),
        ("answer_text", _words),  # several answers allowed
        ("answer_start", pa.list_(pa.int32())),  # offset in characters (code points)
    ]
)
BITEXT = pa.schema(
    [
        ("id", pa.string()),
        ("source_tokens", _words),  # English
        ("target_tokens", _words),
        ("score", pa.float32()),  # margin score where the source has one
    ]
)
WORD_PAIRS = pa.schema(
    [
        ("id", pa.string()),
        ("source_tokens", _words),
        ("target_tokens", _words),
        ("source_index", pa.list_(pa.int16())),  # word source_index[k] goes with target_index[k]
        ("target_index", pa.list_(pa.int16())),
    ]
)
CLASS_PREDICTIONS = pa.schema(
    [
        ("dataset", pa.string()),
        ("language", pa.string()),
        ("example_id", pa.string()),
        ("gold", pa.string()),
        ("prediction", pa.string()),
        ("probabilities", pa.list_(pa.float32())),  # in the order of the model's labels
    ]
)
TAG_PREDICTIONS = pa.schema(
    [
        ("dataset", pa.string()),
        ("language", pa.string()),
        ("example_id", pa.string()),
        ("gold", _words),  # one entry per labelled piece
        ("prediction", _words),
        ("words", pa.list_(pa.int32())),  # the piece's word in the sentence
    ]
)
LANGUAGE_PROBES = pa.schema(
    [
        ("protocol", pa.string()),
        ("method", pa.string()),  # densray or lda
        ("layer", pa.int32()),
        ("kind", pa.string()),  # first, next, window, random, random_last or majority
        ("start", pa.int32()),  # columns [start:stop) of the projected space
        ("stop", pa.int32()),
        ("metric", pa.string()),
        ("value", pa.float64()),  # percent
        ("n", pa.int64()),  # vectors that test, features, or languages
        ("seed", pa.int64()),
    ]
)
SUBSPACE_SCORES = pa.schema(
    [
        ("method", pa.string()),  # densray or lda
        ("first", pa.int32()),  # directions taken away; with 0 all methods have the same score
        ("language", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),  # percent
        ("n", pa.int64()),  # words
        ("seed", pa.int64()),
    ]
)
RETRIEVALS = pa.schema(
    [
        ("layer", pa.int32()),  # 0 for the embeddings, and for static vectors
        ("source", pa.string()),  # language of the words whose translations are looked for
        ("target", pa.string()),
        ("centred", pa.bool_()),  # the mean of each language's words taken off
        ("mrr", pa.float64()),  # 0 to 1
        ("precision_at_1", pa.float64()),
        ("n", pa.int64()),  # source words
        ("candidates", pa.int64()),  # target words
        ("without_context", pa.float64()),  # share of the source words that were encoded alone
    ]
)
TREE_PREDICTIONS = pa.schema(
    [
        ("dataset", pa.string()),
        ("language", pa.string()),
        ("example_id", pa.string()),
        ("gold_heads", pa.list_(pa.int32())),  # of all words, 1-based, 0 is the root
        ("predicted_heads", pa.list_(pa.int32())),  # -1 where the encoder sees no piece of a word
        ("gold_relations", _words),
        ("predicted_relations", _words),  # then empty
    ]
)
SPAN_PREDICTIONS = pa.schema(
    [
        ("dataset", pa.string()),
        ("language", pa.string()),  # of the context
        ("question_language", pa.string()),
        ("example_id", pa.string()),
        ("gold", _words),  # the texts of all answers
        ("prediction", pa.string()),
    ]
)
WORD_DISTANCES = pa.schema(
    [
        ("panel", pa.string()),  # which encoder
        ("protocols", pa.list_(pa.string())),  # under which it is this encoder
        ("kind", pa.string()),  # related or unrelated
        ("distance", pa.float32()),  # L2
    ]
)
PROJECTION = pa.schema(
    [
        ("dataset", pa.string()),  # target or wikipedia
        ("example_id", pa.string()),
        ("language", pa.string()),
        ("label", pa.string()),  # null where the examples have none
        ("x", pa.float32()),
        ("y", pa.float32()),
    ]
)
SIMILARITIES = pa.schema(
    [
        ("protocol", pa.string()),
        ("source", pa.string()),
        ("target", pa.string()),
        ("layer", pa.int16()),  # 0 for the embeddings
        ("measure", pa.string()),  # cka_linear, cka_linear_debiased, cka_linear_uncentred, cka_rbf
        ("value", pa.float64()),
        ("low", pa.float64()),  # 95% interval, or standard deviation over windows
        ("high", pa.float64()),
        ("n", pa.int32()),  # sentences
    ]
)
TOKEN_TRANSLATIONS = pa.schema(
    [
        ("source", pa.string()),
        ("target", pa.string()),
        ("protocol", pa.string()),  # whose language means
        ("part", pa.int32()),  # number of the dataset that the sentences are of
        ("layer", pa.int32()),  # the hidden state that was shifted
        ("weight", pa.float64()),  # of the shift
        ("n", pa.int64()),  # sentences
        ("corpus_bleu", pa.float64()),  # BLEU-1 of all sentences together, 0 to 100
        ("mean_bleu", pa.float64()),  # mean BLEU-1 of the sentences
        ("converted", pa.int64()),  # tokens that only the target language has
        ("counted", pa.int64()),  # tokens but for those that both have
        ("samples", pa.list_(pa.string())),  # what some sentences became
    ]
)
SHIFTED_SCORES = pa.schema(
    [
        ("dataset", pa.string()),
        ("language", pa.string()),
        ("protocol", pa.string()),
        ("layer", pa.int32()),
        ("weight", pa.float64()),
        ("right", pa.int64()),
        ("n", pa.int64()),
    ]
)
MEASUREMENT_COLUMNS = (
    "paper",
    "artifact",
    "task",
    "model",
    "condition",
    "source",
    "target",
    "layers",
    "metric",
    "value",
    "protocol",
    "seed",
    "n",
)

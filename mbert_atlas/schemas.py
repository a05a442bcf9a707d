"""The columns of every Parquet file that the workflow writes."""

import pyarrow as pa

_BOOL, _TEXT, _WORDS = pa.bool_(), pa.string(), pa.list_(pa.string())
_SHORT, _INT, _LONG = pa.int16(), pa.int32(), pa.int64()
_FLOAT, _DOUBLE = pa.float32(), pa.float64()
_SHORTS, _INTS, _FLOATS = pa.list_(_SHORT), pa.list_(_INT), pa.list_(_FLOAT)


def _schema(*columns: tuple[pa.DataType, str]) -> pa.Schema:
    """Return columns: each a type and the names, between blanks, that have it."""
    return pa.schema({name: kind for kind, names in columns for name in names.split()})


# Corpora

PARAGRAPHS = _schema((_TEXT, "id language"), (_LONG, "page_id"), (_TEXT, "title text"))
TYPOLOGY = _schema((_TEXT, "language feature value"))  # of WALS: 81A, and 1 SVO or SVO
DICTIONARY = _schema((_TEXT, "source target"))  # the source is English
LID_EXAMPLES = _schema((_TEXT, "id language split text"))  # train, validation, dev or test
SENTENCES = _schema(
    (_TEXT, "id language treebank split text"),
    (_WORDS, "forms upos"),
    (_INTS, "heads"),  # 1-based, 0 is the root
    (_WORDS, "deprels"),
)
NLI_PAIRS = _schema((_TEXT, "id language split premise hypothesis label genre"))
TAGGED_SENTENCES = _schema((_TEXT, "id language split"), (_WORDS, "forms ner_tags"))  # IOB2
QA_EXAMPLES = _schema(
    (_TEXT, "id language question_language split context question"),  # language: the context's
    (_WORDS, "answer_text"),  # several answers allowed
    (_INTS, "answer_start"),  # offset in characters (code points)
)
# The source is English; the margin score is null where the corpus has none.
BITEXT = _schema((_TEXT, "id"), (_WORDS, "source_tokens target_tokens"), (_FLOAT, "score"))
WORD_PAIRS = _schema(
    (_TEXT, "id"),
    (_WORDS, "source_tokens target_tokens"),
    (_SHORTS, "source_index target_index"),  # word source_index[k] goes with target_index[k]
)

# Predictions

_EXAMPLE = (_TEXT, "dataset language example_id")
CLASS_PREDICTIONS = _schema(
    _EXAMPLE,
    (_TEXT, "gold prediction"),
    (_FLOATS, "probabilities"),  # in the order of the model's labels
)
TAG_PREDICTIONS = _schema(
    _EXAMPLE,
    (_WORDS, "gold prediction"),  # one entry per labelled subword
    (_INTS, "words"),  # the subword's word in the sentence
)
TREE_PREDICTIONS = _schema(
    _EXAMPLE,
    (_INTS, "gold_heads predicted_heads"),  # 1-based, 0 is the root; -1: the word has no subword
    (_WORDS, "gold_relations predicted_relations"),  # empty then
)
SPAN_PREDICTIONS = _schema(
    (_TEXT, "dataset language question_language example_id"),  # language: the context's
    (_WORDS, "gold"),  # the texts of all answers
    (_TEXT, "prediction"),
)

# Trainings

CURVES = _schema(
    (_LONG, "step"),  # steps so far; with 0 there is only the score before training
    (_DOUBLE, "epoch"),  # passes over the training examples so far
    # Means over the steps since the row before: the task's loss; and what methods add to it, null
    # without any.
    (_DOUBLE, "loss method_loss"),
    (_DOUBLE, "learning_rate"),  # of the last step
    (_DOUBLE, "tokens_per_second"),  # since the row before, evaluation included: this machine's
    (_DOUBLE, "score"),  # percent, on development examples; null within epochs, or without any
    # The same in all rows, null where there is none: the loss of guessing without reading the
    # texts; the metric of the score, and its values if all labels are the most frequent one, and if
    # they are drawn with equal chances; and how many labels are scored.
    (_DOUBLE, "guessing_loss"),
    (_TEXT, "metric"),
    (_DOUBLE, "majority chance"),
    (_LONG, "labels"),
)

# Measurements

LANGUAGE_PROBES = _schema(
    (_TEXT, "protocol method"),  # densray or lda
    (_INT, "layer"),
    (_TEXT, "kind"),  # first, next, window, layer, random, baseline or majority
    (_INT, "start stop"),  # columns [start:stop) of the projected space
    (_TEXT, "metric"),
    (_DOUBLE, "value"),  # percent
    (_LONG, "n seed"),  # test vectors, features, or languages
)
SUBSPACE_SCORES = _schema(
    (_TEXT, "method"),  # densray or lda
    (_INT, "first"),  # removed directions; with 0 all methods have the same score
    (_TEXT, "language metric"),
    (_DOUBLE, "value"),  # percent
    (_LONG, "n seed"),  # words
    (_FLOATS, "resampled"),  # the value on resamples of the sentences
)
RETRIEVALS = _schema(
    (_INT, "layer"),  # 0 for the embeddings, and for static vectors
    (_TEXT, "source target"),  # languages of the queries and of the candidates
    (_BOOL, "centred"),  # the mean of each language's words is subtracted
    (_DOUBLE, "mrr"),  # 0 to 1
    (_LONG, "n"),  # source words
    (_FLOATS, "resampled"),  # the MRR on resamples of the source words
)
WORD_DISTANCES = _schema(
    (_TEXT, "panel"),  # which encoder
    (_WORDS, "protocols"),  # under which it is this encoder
    (_TEXT, "kind"),  # related or unrelated
    (_FLOAT, "distance"),  # L2
)
# The dataset is target or wikipedia; the label may be null.
PROJECTION = _schema((_TEXT, "dataset example_id language label"), (_FLOAT, "x y"))
SIMILARITIES = _schema(
    (_TEXT, "protocol source target"),
    (_SHORT, "layer"),  # 0 for the embeddings
    (_TEXT, "measure"),  # cka_linear, -_debiased, -_uncentred, cka_rbf, cka_shuffled
    (_DOUBLE, "value low high"),  # 95% interval, or standard deviation over windows
    (_INT, "n"),  # sentences
    (_FLOATS, "resampled"),  # debiased values on resamples of the sentences; null for others
)
TOKEN_TRANSLATIONS = _schema(
    (_TEXT, "source target protocol"),  # whose language means
    (_LONG, "seed"),  # of a random vector as long as the difference of means; null: the difference
    (_INT, "part layer"),  # number of the sentences' dataset; the hidden state that was shifted
    (_DOUBLE, "weight"),  # of the shift
    (_LONG, "n"),  # sentences
    (_DOUBLE, "corpus_bleu mean_bleu"),  # BLEU-1, 0 to 100, of all together; mean of the sentences
    (_LONG, "converted"),  # tokens that only the target language has
    (_LONG, "counted"),  # tokens without those that both languages have
    (_LONG, "tokens in_source in_neither"),  # all; those of the source language; of neither
    (_LONG, "translated"),  # converted tokens that the sentence's reference has
    (_WORDS, "samples"),  # some of the resulting sentences
    # These numbers on resamples of the test set's sentences; null for other parts.
    (_FLOATS, "resampled_corpus_bleu resampled_mean_bleu resampled_converted resampled_counted"),
    (_FLOATS, "resampled_tokens resampled_in_source resampled_in_neither resampled_translated"),
)
MASKED_PREDICTIONS = _schema(
    (_TEXT, "language"),
    (_LONG, "row"),  # of the token store
    (_LONG, "gold prediction"),  # ids of subwords
)
SHIFTED_SCORES = _schema(
    (_TEXT, "dataset language protocol"),
    (_TEXT, "shift"),  # by the difference of means, or by a random vector as long: means, random
    (_INT, "layer"),
    (_DOUBLE, "weight"),
    (_LONG, "right n"),
    (_FLOATS, "resampled"),  # accuracy in percent on resamples of the texts
)
_NUMBER = "paper artifact task model condition source target layers metric"
MEASUREMENT_COLUMNS = (*_NUMBER.split(), "value", "protocol", "seed", "n")
# What names a measured number, and its value on each resample of the test set, in its unit.
RESAMPLED_MEASUREMENTS = _schema(
    (_TEXT, f"{_NUMBER} protocol"),
    (_LONG, "seed"),  # null where the number has none
    (_FLOATS, "resampled"),
)

"""Labels of tasks, encoders, metrics, conditions and languages, on pages and in figures."""

import re
from collections.abc import Collection, Mapping, Sequence

_WORDS = {
    "aer": "AER",
    "ami": "AMI",
    "auc": "AUC",
    "avg": "average",
    "bert": "BERT",
    "bleu1": "BLEU-1",
    "cka": "CKA",
    "dar": "DAR",
    "densray": "DensRay",
    "embert": "extended mBERT",
    "f1": "F1",
    "glove": "GloVe",
    "l": "L",
    "las": "LAS",
    "lda": "LDA",
    "lr": "learning rate",
    "mbert": "mBERT",
    "mds": "shift",
    "mlqa": "MLQA",
    "mrr": "MRR",
    "ner": "NER",
    "nli": "NLI",
    "pos": "POS",
    "qa": "QA",
    "squad": "SQuAD",
    "tsne": "t-SNE",
    "tydiqa": "TyDi QA",
    "udpos": "UDPOS",
    "wikipedia": "Wikipedia",
    "xlmr": "XLM-R",
    "xnli": "XNLI",
    "xquad": "XQuAD",
}
_PHRASES = {
    "adjusted_continual": "adjusted, continual",
    "cka_percent": "CKA (%)",
    "embert_hi": "mBERT with added Hindi subwords",
    "english_dev": "English, dev",
    "english_test": "English, test",
    "f1_lost": "F1 drop",
    "fine_tuned": "fine-tuned",
    "gain_over_original": "gain over the original",
    "google_bert": "mBERT",
    "l_dar": "L-DAR",
    "mean_x": "mean of the others",
    "mlqa:qa": "MLQA",
    "mlqa_translated_squad": "MLQA, fine-tuned on translated SQuAD",
    "n_pages": "articles",
    "question_english_paragraph_target": "questions in English, paragraphs in the target language",
    "question_target_paragraph_english": "questions in the target language, paragraphs in English",
    "random_init": "re-initialised",
    "random_init_delta": "re-initialised, difference",
    "ref": "reference",
    "squad_en": "SQuAD, English",
    "token_f1": "token F1",
    "tydiqa:qa": "TyDi QA",
    "xnli_mixed": "mixed-language XNLI",
    "xquad:qa": "XQuAD",
}
_BETWEEN_WORDS = re.compile(r"_|(?<=[a-z])-(?=[a-z])")


def label(name: str, names: Mapping[str, str] | None = None) -> str:
    """Return the label of a task, encoder, metric or condition: ``MLQA: mixed``, ``mlqa:qa_mixed``.

    ``names`` are labels that override the usual ones.
    """
    phrases = {**_PHRASES, **(names or {})}
    if name in phrases:
        return phrases[name]
    for start in (":qa_", ":"):
        head, between, rest = name.partition(start)
        if between:
            return f"{label(head, names)}: {label(rest, names)}"
    return " ".join(_WORDS.get(word, word) for word in _BETWEEN_WORDS.split(name))


def language(codes: str, names: Mapping[str, str]) -> str:
    """Return ``en+de`` as ``English + German``; anything but a language code becomes a label."""
    return " + ".join(label(code, names) for code in codes.split("+"))


def listed(words: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def places(names: Collection[str], order: Sequence[str]) -> dict[str, int]:
    """Return the rank of each name, which decides its colour, dash and marker.

    A name of ``order`` has its rank there, whatever else is drawn, so that it looks the same in
    every figure with the same order. Other names follow, sorted.
    """
    ranked = dict.fromkeys([*order, *sorted(set(names) - set(order))])
    return {name: rank for rank, name in enumerate(ranked) if name in names}

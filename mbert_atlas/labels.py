"""What tasks, encoders, metrics, conditions and languages are called, on pages and in figures."""

from __future__ import annotations

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
    "google": "Google's",
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
    "word2vec": "word2vec",
    "xlmr": "XLM-R",
    "xnli": "XNLI",
    "xquad": "XQuAD",
}
_PHRASES = {
    "adjusted_continual": "adjusted, continual",
    "cka_percent": "CKA (%)",
    "embert_hi": "mBERT with more Hindi pieces",
    "english_dev": "English, dev",
    "english_test": "English, test",
    "fine_tuned": "fine-tuned",
    "gain_over_original": "gain over the original",
    "l_dar": "L-DAR",
    "mean_x": "mean of the others",
    "mlqa:qa": "MLQA",
    "mlqa_translated_squad": "MLQA, tuned on translated SQuAD",
    "n_pages": "articles",
    "question_english_paragraph_target": "questions in English, paragraphs in the target language",
    "question_target_paragraph_english": "questions in the target language, paragraphs in English",
    "random_init": "drawn anew",
    "random_init_delta": "drawn anew, difference",
    "ref": "as it is",
    "squad_en": "SQuAD, English",
    "token_f1": "F1 of tokens",
    "tydiqa:qa": "TyDi QA",
    "xnli_mixed": "XNLI, one side in English",
    "xquad:qa": "XQuAD",
}
_BETWEEN_WORDS = re.compile(r"_|(?<=[a-z])-(?=[a-z])")


def label(name: str, names: Mapping[str, str] | None = None) -> str:
    """Return what readers call an identifier.

    ``mlqa:qa_mixed`` is ``MLQA: mixed``; words without a usual spelling stay as they are.

    Args:
        name: of a task, an encoder, a metric or a condition.
        names: names that this place has of its own, which come first.
    """
    found = {**_PHRASES, **(names or {})}
    if name in found:
        return found[name]
    for start in (":qa_", ":"):
        head, between, rest = name.partition(start)
        if between:
            return f"{label(head, names)}: {label(rest, names)}"
    return " ".join(_WORDS.get(word, word) for word in _BETWEEN_WORDS.split(name))


def language(codes: str, names: Mapping[str, str]) -> str:
    """Return ``en+de`` as ``English + German``; what is no language code becomes a label."""
    return " + ".join(label(code, names) for code in codes.split("+"))


def listed(words: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def places(names: Collection[str], order: Sequence[str]) -> dict[str, int]:
    """Return the place of each name, which decides its colour, dash and marker.

    A name of ``order`` has its place there, whatever else is drawn, so that it looks the same in
    every figure with the same order. Other names come behind, sorted.
    """
    known = dict.fromkeys([*order, *sorted(set(names) - set(order))])
    return {name: place for place, name in enumerate(known) if name in names}

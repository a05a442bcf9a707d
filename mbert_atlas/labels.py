"""Labels of tasks, encoders, metrics, conditions and languages, on pages and in figures."""

import re
from collections.abc import Collection, Mapping, Sequence

_CAPITALS = (
    "AER AMI AUC BERT CKA DAR DensRay F1 GloVe L LAS LDA mBERT MLQA MRR NER NLI POS QA SQuAD "
    "UDPOS Wikipedia XNLI XQuAD"
)
_WORDS = {
    **{word.lower(): word for word in _CAPITALS.split()},
    "avg": "average",
    "bleu1": "BLEU-1",
    "embert": "extended mBERT",
    "lr": "learning rate",
    "mds": "shift",
    "tsne": "t-SNE",
    "tydiqa": "TyDi QA",
    "xlmr": "XLM-R",
}
_PHRASES = {
    "accuracy_drop_percent": "relative accuracy drop (%)",
    "adjusted-eflomal": "adjusted on pairs of Eflomal (ours)",
    "adjusted-shuffled": "adjusted on shuffled pairs (control)",
    "adjusted_continual": "adjusted, continual",
    "aggregation_avg": "aggregation: average",
    "aggregation_end": "aggregation: last subword",
    "aggregation_start": "aggregation: first subword",
    "aggregation_subword_alignment": "aggregation: subword alignment",
    "avg_without_en": "average without English",
    "chance_v_measure": "V-measure by chance",
    "chance_v_measure_gain": "gain of the V-measure by chance",
    "cka_linear_percent": "linear CKA, not debiased (%)",
    "cka_linear_uncentred_percent": "linear CKA, uncentred (%)",
    "cka_percent": "CKA (%)",
    "cka_percent_maximum": "largest CKA of all layers (%)",
    "cka_rbf_percent": "RBF CKA (%)",
    "cka_shuffled_percent": "CKA of shuffled pairs (%)",
    "clustering_label": "agreement of clusters, labels",
    "clustering_language_target": "agreement of clusters, languages of the test set",
    "clustering_language_wikipedia": "agreement of clusters, languages of Wikipedia",
    "classifier_lr": "learning rate of the classifier",
    "dev_f1": "development F1",
    "dimensionality_censored": "dimensionality, at least",
    "dev_score": "development score",
    "embert_hi": "mBERT with added Hindi subwords",
    "en_lit": "English, literature",
    "en_ugc": "English, tweets",
    "en_web": "English, web",
    "encoder_lr": "learning rate of the encoder",
    "english_dev": "English, dev",
    "english_test": "English, test",
    "entropy_weight": "weight of the entropy",
    "epochs_best": "best number of epochs",
    "f1_lost": "F1 drop",
    "fine_tuned": "fine-tuned",
    "finetune_all_layers": "fine-tuned, all layers",
    "finetune_last_6_layers": "fine-tuned, last 6 layers",
    "fr_tran": "French, transcripts",
    "fr_wiki": "French, Wikipedia",
    "gain_over_original": "gain over the original",
    "google_bert": "mBERT",
    "grad_rev_lambda": "weight of gradient reversal (lambda)",
    "head_learning_rate": "learning rate of the classifier",
    "init_std": "standard deviation of initial weights",
    "initial_stddev": "standard deviation of initial weights",
    "l2_share_top100_dims_percent": "share of the 100 largest dimensions in the L2 distance (%)",
    "l2_share_top10_dims_percent": "share of the 10 largest dimensions in the L2 distance (%)",
    "l_dar": "L-DAR",
    "l_dar_random": "L-DAR, random directions",
    "macro_f1_present": "macro F1 (gold classes)",
    "macro_f1_union": "macro F1 (gold and predicted classes)",
    "mean_distance_related": "mean distance of related words",
    "mean_distance_unrelated": "mean distance of unrelated words",
    "mean_ratio": "ratio of mean distances",
    "mean_x": "mean of the others",
    "majority_accuracy": "accuracy of the most frequent label",
    "minibatch": "batch size",
    "mlqa_translated_squad": "MLQA, fine-tuned on translated SQuAD",
    "mrr": "MRR (%)",
    "mrr_by_chance": "MRR by chance (%)",
    "n_draws": "combinations tried",
    "n_grid_trials": "combinations in the grid",
    "n_items": "examples",
    "n_pages": "articles",
    "n_points": "points",
    "n_tokens_in_language": "tokens of the language",
    "n_tokens_shared_with_english": "tokens shared with English",
    "question_english_paragraph_target": "questions in English, paragraphs in the target language",
    "question_target_paragraph_english": "questions in the target language, paragraphs in English",
    "pairs_right": "training pairs that are right",
    "random_init": "re-initialised",
    "random_init_delta": "re-initialised, difference",
    "ref": "reference",
    "runtime_minutes": "runtime (minutes)",
    "shift_weight_alpha": "weight of the shift (alpha)",
    "source_rate": "rate of tokens that stay in the source language",
    "spearman_cross_lingual_gap_vs_similarity": "rank correlation of kept score and similarity",
    "spearman_p_value": "p-value of the rank correlation of gap and similarity",
    "spearman_signed": "rank correlation of gap and similarity",
    "squad_en": "SQuAD, English",
    "stripped_all_layers": "case and accents stripped, all layers",
    "stripped_last_6_layers": "case and accents stripped, last 6 layers",
    "third_language_rate": "rate of tokens of a third language",
    "token_level_f1": "F1 over single words",
    "tokens_all": "aligned: all tokens",
    "tokens_cls": "aligned: [CLS]",
    "tokens_cls_sep": "aligned: [CLS] and [SEP]",
    "tokens_words": "aligned: words",
    "top_100_dimensions_share": "share of the 100 largest dimensions in the L2 distance (%)",
    "top_10_dimensions_share": "share of the 10 largest dimensions in the L2 distance (%)",
    "tsne_sample": "sample of the t-SNE",
    "v_measure": "V-measure",
    "v_measure_chance": "V-measure by chance",
    "v_measure_gain": "gain of the V-measure",
    "xnli_mixed": "mixed-language XNLI",
}
_ENDINGS = {
    "_label": ", labels",
    "_language_target": ", languages of the test set",
    "_language_wikipedia": ", languages of Wikipedia",
    "_low": ", lower end of its interval",
    "_high": ", upper end of its interval",
    "+mds": ", with shift",
    "+random_shift": ", with a random shift (control)",
    ":qa": "",
}
_COMPARISONS = {
    "holm_p_value": "p-value of the difference from",
    "p_value": "p-value of the difference from",
    "gain_low": "lower end of the gain over",
    "gain_high": "upper end of the gain over",
    "effect_size": "effect size of the difference from",
    "minus": "difference from",
}
_COMPARED = re.compile(rf"(.+?)_({'|'.join(_COMPARISONS)})(?:_vs)?_(.+)")
_PREFIX = re.compile(r"(token|span|entity|micro)_(.+)")
_BETWEEN_WORDS = re.compile(r"_|(?<=[a-z])-(?=[a-z])")


def label(name: str, names: Mapping[str, str] | None = None) -> str:
    """Return the label of a task, encoder, metric or condition: ``MLQA: mixed``, ``mlqa:qa_mixed``.

    ``names`` are labels that override the usual ones.
    """
    phrases = {**_PHRASES, **(names or {})}
    if name in phrases:
        return phrases[name]
    if match := _COMPARED.fullmatch(name):
        holm = " (Holm)" if match[2] == "holm_p_value" else ""
        compared = f"{_COMPARISONS[match[2]]} {label(match[3], names)}{holm}"
        return f"{label(match[1], names)}: {compared}"
    for ending, words in _ENDINGS.items():
        if name.endswith(ending) and name != ending:
            return label(name.removesuffix(ending), names) + words
    if match := _PREFIX.fullmatch(name):
        return f"{match[1]} {label(match[2], names)}"
    for start in (":qa_", ":"):
        head, between, rest = name.partition(start)
        if between:
            return f"{label(head, names)}: {label(rest, names)}"
    words = " ".join(_WORDS.get(word, word) for word in _BETWEEN_WORDS.split(name))
    return re.sub(r"(?<=\w)=", " = ", words)


def language(codes: str, names: Mapping[str, str]) -> str:
    """Return ``en+de`` as ``English + German``; anything but a language code becomes a label."""
    if codes in names:
        return names[codes]
    return " + ".join(label(code, names) for code in codes.split("+"))


def listed(words: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def places(names: Collection[str], order: Sequence[str]) -> dict[str, int]:
    """Return the rank of each name, which decides its colour, dash and marker.

    A name of ``order`` has its rank there, whatever else is drawn, so that it looks the same in all
    figures. Other names follow, sorted.
    """
    ranked = dict.fromkeys([*order, *sorted(set(names) - set(order))])
    return {name: rank for rank, name in enumerate(ranked) if name in names}

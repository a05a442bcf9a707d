"""Title, contrasts and table titles of the paper."""

from mbert_atlas.scorecard.rules import Contrast

TITLE = (
    "Efimov et al. (2022): The Impact of Cross-Lingual Adjustment of Contextual Word "
    "Representations on Zero-Shot Transfer"
)
CONTRASTS = (
    *(
        Contrast(table, condition, baseline)
        for table in ("table2", "table3", "table4")
        for condition, baseline in (("adjusted", "original"), ("adjusted_continual", "adjusted"))
    ),
    *(
        Contrast("table8", condition, "original")
        for condition in ("adjusted", "adjusted_es", "adjusted_ru", "adjusted_vi", "adjusted_hi")
    ),
    Contrast("table9", "adjusted_30K", "original"),
    Contrast("table9", "adjusted_100K", "original"),
)
TITLES = {
    "table2": "Zero-shot XNLI before and after cross-lingual adjustment",
    "table3": "Zero-shot NER before and after cross-lingual adjustment",
    "table4": "Zero-shot QA before and after cross-lingual adjustment",
    "table5": "Gain by the number of parallel sentences",
    "table6": "Gain by how subwords are aggregated into one vector",
    "table7": "Gain by what is aligned",
    "table8": "QA in the training language, before and after adjustment",
    "table9": "{languages} with an extended vocabulary, before and after adjustment",
}
"""Titles of tables; the config fills in the names in braces."""

"""What pages and figures call the encoders that stand for the models that papers name."""

from pathlib import Path

from mbert_atlas.labels import label, listed
from mbert_atlas.plan.files import Files

_MBERT = "google-bert/bert-base-multilingual-cased"
RELEASED = {"mbert": _MBERT, "embert_hi": _MBERT, "xlmr": "FacebookAI/xlm-roberta-base"}
"""Repository of the models that papers name, or of the one that a model starts from."""
_ARCHITECTURES = {"bert": "BERT", "xlm-roberta": "XLM-R"}


def brief_name(plan: Files, model: str, encoder: str) -> str:
    """Return the label of a model in figures, ``4-layer BERT (paper: mBERT)``; or only its name."""
    released = _is_released(plan, model, encoder)
    return label(model) if released else f"{_name(plan, encoder)} (paper: {label(model)})"


def full_name(plan: Files, model: str, encoder: str) -> dict[str, str]:
    """Return the label of a model in tables, and the file that states the size of its encoder.

    The label is ``mBERT in the paper; here 4-layer BERT of hidden size 96, pretrained from
    scratch``, without a file. That of an encoder from the hub has to be fetched first.
    """
    if _is_released(plan, model, encoder):
        return {"label": label(model), "config": ""}
    item = plan.config.encoders[encoder]
    name = f"{label(model)} in the paper; here {_name(plan, encoder)}"
    if item.scratch:
        size = item.scratch.pretraining.hidden_size
        return {"label": f"{name} of hidden size {size}, pretrained from scratch", "config": ""}
    folder = item.folder or plan.encoder(encoder).replace("<downloads>", plan.config.downloads)
    is_read = item.hub or item.folder
    return {"label": name, "config": f"{folder}/config.json" if is_read else ""}


def _is_released(plan: Files, model: str, encoder: str) -> bool:
    """Return whether an encoder is the model that the papers name."""
    item = plan.config.encoders[encoder]
    if item.changed:  # by the texts of one language
        is_its_own = item.changed.languages == [model.rpartition("_")[2]]
        return is_its_own and _is_released(plan, model, item.changed.encoder)
    return item.hub is not None and item.hub.repository == RELEASED.get(model)


def _name(plan: Files, encoder: str) -> str:
    item = plan.config.encoders[encoder]
    if item.changed:
        added = listed([plan.languages[code].name for code in item.changed.languages])
        return f"{_name(plan, item.changed.encoder)} with added {added} subwords"
    if item.scratch:
        pretraining = item.scratch.pretraining
        return f"{pretraining.layers}-layer {_ARCHITECTURES[pretraining.architecture]}"
    return item.hub.repository.rpartition("/")[2] if item.hub else Path(item.folder or "").name

"""Made-up probes and classifiers, see ``tests/unit/planned_files.py``."""

from itertools import product

from planned_files import table, writes

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.papers.liang2021.artifacts import METHODS, probing, seeds_of
from mbert_atlas.papers.liang2021.probes import Window, windows_of
from mbert_atlas.schemas import LANGUAGE_PROBES, SUBSPACE_SCORES

METRICS = {
    "identification": dict.fromkeys(PROTOCOLS, "accuracy"),
    "typology": dict.fromkeys(PROTOCOLS, "micro_f1"),
    "similarity": {"published": "v_measure", "corrected": "ami"},
}


@writes("<results>/probes/liang2021/{encoder}/{languages}/{probe}.parquet")
def probes(plan, encoder, languages, probe):
    """All windows of the last layer, the first dimensions of every layer."""
    options = probing(plan, probe, languages)
    layers = {*options["layers"], options["full_layer"]}
    windows = [(layer, some) for layer in layers for some in windows_of(options, layer, 768)]
    places = [(layer, window) for layer, some in windows for window in some]
    if probe == "typology":
        places.append((options["full_layer"], Window("majority", 0, 0)))
    seeds = seeds_of(plan, languages)
    rows = [
        {"protocol": protocol, "method": method, "metric": METRICS[probe][protocol]}
        | {"layer": layer, **window._asdict(), "seed": seed}
        for protocol, method, (layer, window), seed in product(
            PROTOCOLS, options["methods"], places, seeds
        )
    ]
    return table(LANGUAGE_PROBES, rows)


@writes("<results>/classifiers/liang2021/{model}-{task}/{encoder}.parquet")
def classifiers(plan, model, task, encoder):
    """Scores with every number of directions removed."""
    rows = [
        {"method": method, "first": first, "language": "en"}
        for method, first in product(METHODS, plan.config.liang2021.removal.firsts)
    ]
    return table(SUBSPACE_SCORES, rows)

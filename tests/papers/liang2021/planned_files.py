"""Made-up probes and classifiers, see ``tests/unit/planned_files.py``."""

from itertools import product

from planned_files import table, writes

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.papers.liang2021.artifacts import METHODS, probing
from mbert_atlas.papers.liang2021.measures import HEADLINES
from mbert_atlas.schemas import LANGUAGE_PROBES, SUBSPACE_SCORES


@writes("<results>/probes/liang2021/{encoder}/{languages}/{probe}.parquet")
def probes(plan, encoder, languages, probe):
    """All windows of the last layer, the first dimensions of the others."""
    options = probing(plan, probe, languages)
    sizes, width, first = options["sizes"], options["width"], options["layer_size"]
    windows = [("first", 0, size) for size in {*sizes, first}]
    windows += [("next", size, 2 * size) for size in sizes]
    windows += [("window", start, start + width) for start in range(0, max(sizes), width)]
    windows += [(kind, 0, size) for kind in ("random", "random_last") for size in {*sizes, width}]
    places = [(options["full_layer"], *window) for window in windows]
    places += [(layer, "first", 0, first) for layer in options["layers"]]
    rows = [
        {"protocol": protocol, "method": method, "metric": metric}
        | dict(zip(("layer", "kind", "start", "stop"), place, strict=True))
        for protocol, method, place in product(PROTOCOLS, options["methods"], set(places))
        for metric in sorted(HEADLINES[protocol])[:1]
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

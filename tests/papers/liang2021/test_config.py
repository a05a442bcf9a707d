"""The section of the paper: what does not fit is named."""

from itertools import pairwise

import pyarrow as pa
import pytest
from configs import LANGUAGES, ROOT, config, config_errors

from mbert_atlas import papers
from mbert_atlas.cells import Cell
from mbert_atlas.files import write_parquet
from mbert_atlas.languages import Languages
from mbert_atlas.papers.liang2021 import artifacts
from mbert_atlas.papers.liang2021.measures import measure_windows
from mbert_atlas.plan.plan import Plan
from mbert_atlas.plan.runs import RunTable
from mbert_atlas.schemas import LANGUAGE_PROBES

PAPER = "liang2021:\n  "


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (PAPER + "encoders: {xlmr: xlm}\n", "'xlm' is not defined"),
        (PAPER + "pairs: {sets: {a/b: [de, en]}}\n", "sets.a/b: 'a/b' becomes a file name"),
        (PAPER + "pairs: {sets: {all: [de, en]}}\n", "'all' is another set: all languages, or"),
        (PAPER + "pairs: {sets: {random1: [de, en]}}\n", "'random1' is another set"),
        (PAPER + "encoders: {xlmr: mbert}\n", "encoders.xlmr: 'mbert' is that of mbert, too"),
        (PAPER + "probing: {sizes: [0]}\n", "probing.sizes.0: Input should be greater than or"),
        (PAPER + "probing: {pairs: {published: -3}}\n", "probing.pairs.published: Input should"),
        (PAPER + "removal: {firsts: [0, -4]}\n", "removal.firsts.1: Input should be greater"),
        (PAPER + "tokens: {texts: {mbert: wikipedia}}\n", "'wikipedia' is not defined as lang"),
        (PAPER + "tokens: {encoding: xtreme-tags}\n", "'xtreme-tags' is not defined for text"),
        (PAPER + "typology: wikipedia\n", "'wikipedia' is not defined as typology"),
        (PAPER + "pairs: {sets: {italic: [es, eo]}}\n", "'eo' is not defined in datasets.tokens"),
        (PAPER + "pairs: {sampled: 105}\n", "sample at most 104, the languages of tokens-mbert"),
        (PAPER + "removal: {firsts: [10, 20]}\n", "lacks the whole space"),
        (PAPER + "removal: {tuned: {pos: {lda: [150]}}}\n", "'xtreme-pos-lda-150' is not defined"),
        (
            PAPER + "transfer: {layers: {ner: {en: [2-3]}}}\n",
            "'xtreme-ner-l-dar-2-3' is not defined",
        ),
        (PAPER + "transfer: {datasets: {pos: xtreme-pos-dev}}\n", "in runs.xtreme-pos.evaluate"),
        (
            "runs:\n  xtreme-pos-l-dar: {language_data: {encoding: xtreme-tags}}\n",
            "'xtreme-tags' is not defined for text",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_key_and_correction(tmp_path, text, sentence):
    assert sentence in config_errors(tmp_path, text)


@pytest.mark.parametrize(
    "presets", [[], ["demo"], ["small"], ["small", "small-scratch"], ["small", "night"]]
)
def test_windows_that_claims_compare_are_different_in_every_preset(tmp_path, presets):
    paths = [ROOT / f"config/{preset}.yaml" for preset in presets]
    plan = Plan(papers.load(paths, ROOT), LANGUAGES, home=ROOT)
    paper = artifacts.section(plan)
    place = {"kind": "first", "protocol": "corrected", "method": "lda", "layer": paper.layers}
    number = {"metric": "accuracy", "value": 1.0, "n": 9, "seed": 1, "start": 0}
    rows = [place | number | {"stop": size} for size in paper.probing.sizes]
    write_parquet(pa.Table.from_pylist(rows, LANGUAGE_PROBES), tmp_path / "probes")
    for model in paper.encoders:
        count = len(plan.config.datasets[paper.tokens.texts[model]].languages)
        cell = Cell(task="identification", model=model, path=str(tmp_path / "probes"))
        conditions = [
            row["condition"].removeprefix("lda_")
            for row in measure_windows([cell], paper.layers, {model: count})
        ]
        # The name by the number of languages follows that by the dimensions.
        named = [pair for pair in pairwise(conditions) if pair[1].startswith("first-")]
        sizes = {name: int(window.partition("-")[2]) for window, name in named}
        names = [f"first-{name}" for name in ("quarter", "half", "languages", "double")]
        assert list(sizes) == names
        steps = [1, *sizes.values()]
        assert all(larger >= 1.5 * smaller for smaller, larger in pairwise(steps)), sizes


def test_what_the_regulariser_holds_to_differs_by_protocol():
    runs = RunTable(config())
    for layers, first in (("", 1), ("-5-8", 5)):
        published, corrected = (
            runs.get(f"xtreme-pos-l-dar{layers}", None, protocol).specification
            for protocol in ("published", "corrected")
        )
        for run, reference in ((published, "random"), (corrected, "pretrained")):
            held = run["hyperparameters"]["language_subspace"]
            assert (held["reference"], held["first_layer"]) == (reference, first)
        assert published["language_data"]["dataset"] == "tokens-mbert"
    assert "language_data" not in runs.get("xtreme-pos", None, "published").specification


def test_sets_of_figure_5_are_the_authors_and_a_sample_for_each_seed():
    plan = Plan(config(), Languages.read(ROOT / "resources/languages.csv"), home=ROOT)
    sets = artifacts.language_sets(plan)
    # LI_figure_appendix.py; the order decides which pair is the last
    assert ",".join(sets["austronesian"]) == "ceb,id,jv,mg,ms,min,su,tl,vi,war"
    assert ",".join(sets["italic"]) == "an,ca,fr,gl,ht,it,la,pms,scn,es"
    assert ",".join(sets["germanic"]) == "af,bar,nl,en,de,is,nds,lb,sco,fy"
    samples = [sets.pop(f"random{seed}") for seed in range(1, 6)]
    assert set(sets) == {"austronesian", "italic", "germanic"}
    assert {len(set(sample)) for sample in samples} == {10}
    assert len(set(map(tuple, samples))) == 5
    assert artifacts.seeds_of(plan, "random3") == [3]
    assert artifacts.seeds_of(plan, "italic") == [1, 2, 3, 4, 5]
    options = artifacts.probing(plan, "identification", "italic")
    assert options["starts"] == list(range(16))
    assert (options["width"], options["random_from"], options["tokens"]) == (2, 12, 10000)
    options = artifacts.probing(plan, "identification", "all")
    assert options["starts"] == list(range(0, 200, 10))
    assert (options["random_from"], options["layer_pairs"]["published"]) == (105, 100)

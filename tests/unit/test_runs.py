"""Runs: resolved from families, shared where they are the same."""

import itertools

import pytest
from configs import config

from mbert_atlas import papers
from mbert_atlas.errors import AtlasError
from mbert_atlas.plan.runs import RunTable


def table(**changes):
    return RunTable(config(**changes))


def test_protocols_split_only_where_they_differ():
    runs = table()
    ids = {run.id for run in runs}
    assert {"nli", "adjusted-hi.published", "adjusted-hi.corrected"} <= ids
    assert runs.get("nli", None, "published") is runs.get("nli", None, "corrected")
    assert runs.get("nli-adjusted", "hi", "published").start == "adjusted-hi.published"
    assert runs.get("nli-adjusted", "hi", "published").base == "mbert"


def test_evaluation_languages_are_filled_in():
    run = table().get("nli-adjusted", "ru", "corrected")
    assert run.specification["evaluate"] == {"xnli": ["ru", "en"], "xnli-mixed": ["ru"]}


def test_a_data_set_without_the_language_of_a_run_is_left_out():
    runs = table()
    for variant, language, absent in (("5k", "ru", "mlqa"), ("start", "hi", "tydiqa")):
        run = runs.get(f"qa-adjusted-{variant}", language, "published")
        assert absent not in run.specification["evaluate"]
        assert run.specification["evaluate"]["xquad"] == [language]


def test_a_family_is_like_another_but_for_what_it_says():
    runs = table(runs={"adjusted": {"published": {"optimisation": {"learning_rate": 1e-3}}}})
    hyperparameters = {
        protocol: runs.get("adjusted-5k", "ru", protocol).specification["hyperparameters"]
        for protocol in ("published", "corrected")
    }
    # A change to the family below, or to `published` alone, reaches all that say nothing else.
    for protocol, reduction in (("published", "mean"), ("corrected", "sum")):
        assert hyperparameters[protocol]["sentences"] == 5000
        assert hyperparameters[protocol]["optimisation"]["learning_rate"] == 1e-3
        assert hyperparameters[protocol]["reduction"] == reduction
    assert runs.get("qa-translated", "hi", "published").specification["train_languages"] == ["hi"]


def test_one_family_per_encoder_in_its_languages():
    runs = table()
    assert runs.get("ner-adjusted-5k", "ru", "corrected").start == "adjusted-5k-ru.corrected"
    assert runs.get("ner-adjusted-embert", "hi", "published").base == "embert-hi"
    with pytest.raises(AtlasError, match="'hi' is requested but not listed"):
        runs.get("ner-adjusted-5k", "hi", "published")


def test_a_run_that_replays_an_adjustment_holds_its_specification():
    runs = table()
    run = runs.get("nli-continual", "hi", "published")
    assert run.start == "adjusted-hi.published"
    assert run.specification["replay"] == runs["adjusted-hi.published"].specification
    assert "replay" not in runs.get("nli-adjusted", "hi", "published").specification


def plain(value):
    """Every mapping within a value."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from plain(item)


def test_a_specification_holds_only_what_applies():
    runs = table()
    for run in runs:
        for mapping in plain(run.specification):
            assert None not in mapping.values(), run.id
    tagging, parsing = runs["udpos.published"], runs["parsing-1-2-ar"]
    assert set(tagging.specification["hyperparameters"]["head"]) <= {"dropout", "initial_stddev"}
    assert parsing.specification["hyperparameters"]["head"]["arc_size"] == 500
    assert "doc_stride" not in tagging.specification["encoding"]
    assert "confusion" not in tagging.specification["hyperparameters"]
    assert tagging.code == ("tasks:TASKS[tagging]", "training.methods:METHODS[selection]")
    qa = runs.get("qa-translated", "hi", "published").specification
    assert qa["encoding"]["doc_stride"] == 128


def test_what_applies_only_with_another_value_is_left_out():
    development = {"published": {"selection": {"development": "udpos-dev"}}}
    held_out = {"metric", "fraction", "seed"}
    for changes, expected in (({}, held_out), (development, {"metric", "development"})):
        run = table(runs={"udpos": changes}).get("udpos", None, "published")
        assert set(run.specification["hyperparameters"]["selection"]) == expected


def test_families_with_the_same_content_are_one_run():
    same = {"like": "nli", "paper": papers.names()[-1]}
    other = same | {"published": {"optimisation": {"epochs": 3}}}
    runs = table(runs={"same": same, "other": other})
    assert runs.get("same", None, "published").id == "nli"
    assert runs.get("other", None, "published").id == "other"


def test_two_runs_with_one_name_are_rejected():
    twin = {"like": "adjusted", "languages": ["hi"], "published": {"sentences": 7}}
    twin |= {"corrected": None}
    with pytest.raises(AtlasError, match="'twin-hi' has the name of another run"):
        table(runs={"twin": twin, "twin-hi": {"like": "nli", "evaluate": {"xnli": ["hi"]}}})


def test_an_aligner_is_part_of_a_run_unless_it_is_the_default():
    run = table().get("adjusted-eflomal", "hi", "corrected")
    assert run.specification["aligner"] == "eflomal"
    runs = table(alignment={"aligner": "eflomal"})
    assert runs.get("adjusted-eflomal", "hi", "corrected") is runs.get(
        "adjusted", "hi", "corrected"
    )


def test_one_hyperparameter_changes_one_run_and_what_starts_from_it():
    before = {run.id: run.specification for run in table()}
    after = {
        run.id: run.specification
        for run in table(runs={"adjusted": {"corrected": {"sentences": 999}}})
    }
    changed = {name for name in before if before[name] != after[name]}
    # What replays the adjustment holds its specification; variants that say nothing of it follow.
    families = ("adjusted", "nli-continual", "ner-continual", "qa-continual")
    expected = {f"{name}-{code}" for name in families for code in ("es", "ru", "vi", "hi")}
    for variant in ("start", "end", "pieces", "cls", "cls-sep", "words", "shuffled", "embert"):
        expected.add(f"adjusted-{variant}-hi")
    expected |= {f"adjusted-eflomal-{code}" for code in ("ru", "hi")}
    assert changed == {f"{name}.corrected" for name in expected}
    assert after["nli-adjusted-es.corrected"]["start"] == "adjusted-es.corrected"


def test_unknown_language_circle_and_id_are_rejected():
    runs = table()
    with pytest.raises(AtlasError, match=r"runs\.adjusted\.languages: 'de'"):
        runs.get("adjusted", "de", "published")
    with pytest.raises(AtlasError, match="no run 'nope'"):
        runs["nope"]
    with pytest.raises(AtlasError, match="is a circle"):
        table(runs={"adjusted": {"encoder": "nli-adjusted"}})


SEARCH = {
    "draws": 5,
    "space": {"head.initial_stddev": [0.1, 0.01], "optimisation.batch_size": [64, 32, 16]},
    "evaluate": {"xnli-dev": ["ru"]},
    "choose_by": {"published": {"metric": "accuracy"}, "corrected": {"metric": "accuracy"}},
}


def test_a_search_draws_different_values_and_trains_them_on_other_data():
    runs = table(runs={"nli": {"search": SEARCH}, "more": {"like": "nli", "search": {"seed": 1}}})
    draws = runs.searches["nli"]
    assert len({tuple(values.items()) for values in draws.values()}) == 5
    assert len(runs.searches["more"]) == 5  # key by key from the other family
    assert [*runs.searches["more"].values()] != [*draws.values()]
    assert "ner" not in runs.searches
    assert "nli-adjusted-hi" in runs.searches  # like nli, each of its languages by itself
    assert runs["nli-adjusted-hi-draw05"].start == "adjusted-hi.published"
    name, values = next(iter(draws.items()))
    run, base = runs[name], runs["nli"]
    assert name == "nli-draw01"
    assert run.seeds == (0,)
    assert 0 not in base.seeds  # no final run repeats a draw
    assert run.specification["evaluate"] == {"xnli-dev": ["ru"]}
    hyperparameters = run.specification["hyperparameters"]
    before = base.specification["hyperparameters"]
    assert hyperparameters["head"]["initial_stddev"] == values["head.initial_stddev"]
    batch = {"batch_size": values["optimisation.batch_size"]}
    assert hyperparameters["optimisation"] == before["optimisation"] | batch
    with pytest.raises(AtlasError, match="the space holds 6"):
        table(runs={"nli": {"search": SEARCH | {"draws": 7}}})


def test_a_grid_takes_every_combination_in_order():
    search = SEARCH | {"kind": "grid", "draws": None}
    draws = table(runs={"nli": {"search": search}}).searches["nli"]
    found = [tuple(values.values()) for values in draws.values()]
    assert found == list(itertools.product([0.1, 0.01], [64, 32, 16]))


def test_final_runs_take_the_values_of_the_config_or_the_chosen_ones():
    given = table(runs={"nli": {"search": SEARCH}})["nli"].specification
    assert "search" not in given
    searched = table(runs={"nli": {"search": SEARCH | {"use": "chosen"}}})
    final = searched.get("nli", None, "published").specification
    assert final == given | {"search": "nli.published"}
    assert "search" not in searched["nli-draw01"].specification
    assert "search" not in searched["ner"].specification

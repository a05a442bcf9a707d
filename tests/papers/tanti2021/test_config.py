"""The section of the paper: what does not fit is named; the search is Tables 4 and 5."""

import pytest
from configs import config, config_errors

from mbert_atlas.papers.tanti2021.artifacts import search_space
from mbert_atlas.plan.runs import RunTable

TASK = "tanti2021:\n  tasks:\n    "


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        (TASK + "udpos: {conditions: {initial: udpos}}\n", "line 3", "is only for initial"),
        ("tanti2021: {perplexity: -1}\n", "line 1", "perplexity: Input should be greater than 0"),
        (
            "tanti2021:\n  perplexity: 1e6\n",
            "line 2",
            "key tanti2021.perplexity: 1000000.0 is too large for a sample of at most 8910 points",
        ),
        (
            "tanti2021: {points_per_language: 10, language_clusters: 361}\n",
            "line 1",
            "key tanti2021.language_clusters: 361 is too large for a sample of at most 330 points",
        ),
        (
            TASK + "udpos: {conditions: {gradient_reversal: udpos-entropy}}\n",
            "line 3",
            "is 'entropy_maximisation', not 'gradient_reversal'",
        ),
        ("runs:\n  udpos-initial: {search: null}\n", "", "the key is missing"),
        ("runs:\n  xnli-entropy: {search: null}\n", "line 2", "there is no `search`"),
        (
            "datasets:\n  wikipedia-languages: {fractions: [0.7, 0.1, 0.1, 0.0999999999999]}\n",
            "line 2",
            "must sum to 1",
        ),
        (
            "datasets:\n  wikipedia-languages: {files: some.tgz}\n",
            "line 2",
            "give `files` or `files_by_language` or `paragraphs`, not both",
        ),
        (
            "runs:\n  xnli-tuned: {evaluate: {xnli: [en, fr]}}\n",
            "line 2",
            "the languages are not those of runs.xnli-initial",
        ),
        (
            "runs:\n  udpos-entropy: {seeds: [2]}\n  udpos-reversal: {seeds: [1]}\n",
            "line 3",
            "key runs.udpos-reversal.seeds: runs.udpos-reversal [1] and runs.udpos-entropy [2] "
            "share no seed, and a figure shows them next to each other; give them a seed that",
        ),
        (
            "runs:\n  udpos-initial: {seeds: [9]}\n  udpos: {seeds: [8]}\n",
            "line 2",
            "runs.udpos-initial [9] and runs.udpos [8] share no seed",
        ),
        (
            "runs:\n  udpos-reversal: {language_data: {dataset: udpos-dev}}\n",
            "line 2",
            "'udpos-dev' is not defined as language_identification",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_key_and_fix(tmp_path, text, line, sentence):
    message = config_errors(tmp_path, text)
    assert line in message
    assert sentence in message


def test_the_search_draws_from_table_4_what_matters_to_an_experiment():
    paper = config()
    runs, space = RunTable(paper), search_space(paper)
    assert list(space) == [
        *("initial_stddev", "batch_size", "head_learning_rate", "learning_rate"),
        *("gradient_reversal", "entropy_maximisation"),
    ]
    draws = runs.searches["udpos-reversal"]
    assert len(draws) == 20
    weights = {values["confusion.weight"] for values in draws.values()}
    assert weights == set(space["gradient_reversal"])
    assert all("confusion.weight" not in values for values in runs.searches["udpos"].values())
    frozen = runs.searches["udpos-initial"]
    assert all("optimisation.learning_rate" not in values for values in frozen.values())
    assert runs.searches["udpos"] != runs.searches["udpos-entropy"]
    assert config().runs["xnli-reversal"].published.optimisation.learning_rate == 1e-6  # Table 5
    without = {name: {"search": {"draws": 0}} for name in ("udpos-initial", "xnli-initial")}
    assert "xnli-entropy" not in RunTable(config(runs=without)).searches

"""Claims as data: reading and errors."""

from pathlib import Path

import pytest
from toy_claims import REPORTED, claim, key

from mbert_atlas.errors import DataError
from mbert_atlas.papers import names
from mbert_atlas.scorecard.claims import Claims, cells_of, read_claims
from mbert_atlas.scorecard.verdicts import NOT_RUN, verdicts

ROOT = Path(__file__).parents[2]
CLAIM = """\
claims:
  better:
    claim: Adjustment helps.
    place: section 1
    artifact: table1
    of: {metric: accuracy}
    effect: {plus: {condition: adjusted}, minus: {condition: original}}
    over: every
    expect: {above: 0}
"""


def read(tmp_path: Path, text: str = CLAIM) -> Claims:
    reported, path = tmp_path / "reported.csv", tmp_path / "claims.yaml"
    reported.write_text(REPORTED)
    path.write_text(text)
    return read_claims(path, "toy2020", reported)


def test_a_claim_has_an_effect_per_value_that_no_side_names(tmp_path: Path) -> None:
    (result,) = read(tmp_path).claims.values()
    keys = [key(*each) for each in (("adjusted", "ru"), ("original", "ru"), ("original", "hi"))]
    (cell,) = cells_of(result, "toy2020", keys)  # of Hindi one side is missing
    assert cell.weights == {key("adjusted"): 1.0, key("original"): -1.0}
    assert cells_of(result, "another", keys) == []


def test_sides_are_means_and_weights_of_a_cell_add_up() -> None:
    over_languages = claim(
        of={"condition": "original", "metric": "accuracy"},
        effect={"plus": {"target": ["ru", "hi"]}, "minus": {"target": "es"}},
    )
    keys = [key("original", target) for target in ("ru", "hi", "es", "vi")]
    (cell,) = cells_of(over_languages, "toy2020", keys)
    assert cell.weights == {keys[0]: 0.5, keys[1]: 0.5, keys[2]: -1.0}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("artifact: table1", "artifact: table11", "line 5, key claims.better.artifact: 'table11'"),
        ("artifact: table1", "artifact: table11", "did you mean 'table1'?"),
        ("metric: accuracy", "metric: acuracy", "line 6, key claims.better.of.metric: 'acuracy'"),
        ("metric: accuracy", "metric: token_f1", "is not defined as metric of table1"),
        ("adjusted", "ajusted", "line 7, key claims.better.effect: 'ajusted'"),
        ("minus: {condition: original}", "minus: {target: ru}", "another leaves it free"),
        ("of: {metric: accuracy}", "of: {task: nli}", "no metric is named"),
        ("over: every", "ovr: every", "did you mean 'over'?"),
        ("above: 0", "abve: 0", "did you mean 'above'?"),
        ("{above: 0}", "{above: 1, below: 0}", "`above` is not less than `below`"),
        ("{above: 0}", "{}", "neither `above` nor `below` is given"),
        ("    place: section 1\n", "", "the key is missing"),
        ("claims:", "unreported: {metrik: x}\nclaims:", "key unreported.metrik: Input should be"),
        ("claims:", "means: {target: {every: es}}\nclaims:", "key means.target.every: 'es' is not"),
        (
            "claims:",
            "differences: [{of: {condition: delta}, reference: {condition: original}}]\nclaims:",
            "line 1, key differences.0: 'delta' is not defined as condition of toy2020",
        ),
        ("claims:", "tasks: {nli: xnli}\nclaims:", "line 1, key tasks.nli: 'xnli' is not defined"),
        (
            "claims:",
            "gates: {x: {otherwise: 'at chance:', effect: {plus: {}}, expect: {above: 0}}}\n"
            "claims:",
            "line 1, key gates.x.otherwise: String should match",
        ),
    ],
)
def test_mistakes_are_named_with_file_and_line(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    assert old in CLAIM
    with pytest.raises(DataError) as caught:
        read(tmp_path, CLAIM.replace(old, new))
    assert str(caught.value).startswith(str(tmp_path / "claims.yaml"))
    assert sentence in str(caught.value)


def test_names_of_additional_measurements_are_declared(tmp_path: Path) -> None:
    ours = CLAIM.replace("metric: accuracy", "metric: separation_auc")
    with pytest.raises(DataError, match="separation_auc"):
        read(tmp_path, ours)
    assert read(tmp_path, "unreported: {metric: separation_auc}\n" + ours)


def test_differences_name_the_scores_of_which_they_consist(tmp_path: Path) -> None:
    text = """\
unreported: {condition: adjusted_delta}
differences:
  - of: {condition: adjusted_delta}
    score: {condition: adjusted}
    reference: {condition: original, layers: ""}
"""
    stated = read(tmp_path, text + CLAIM)
    assert [*stated.parts(key("adjusted_delta"))] == [(key("adjusted"), key("original"))]
    assert not [*stated.parts(key("adjusted"))]


def test_reported_means_are_those_of_their_parts(tmp_path: Path) -> None:
    text = CLAIM.replace("{metric: accuracy}", "{metric: accuracy, target: all}")
    with pytest.raises(DataError, match="'all' is not defined as target of table1"):
        read(tmp_path, text)
    stated = read(tmp_path, "means: {target: {all: [ru, hi]}}\n" + text)
    result = verdicts({"toy2020": stated}, [], [tmp_path / "reported.csv"], languages=[])
    assert result["reported"].tolist() == [0.5, 0.5]  # 62 and 49 less 60 and 50
    assert result["reported_bears_out"].tolist() == ["yes", "yes"]
    assert "all" not in {cell[6] for cell in stated.with_means({key("original"): 60.0})}


@pytest.mark.parametrize("paper", names())
def test_every_paper_states_its_claims(paper: str) -> None:
    reported = ROOT / f"resources/reported/{paper}.csv"
    path = ROOT / f"mbert_atlas/papers/{paper}/claims.yaml"
    read = read_claims(path, paper, reported)
    claims = read.claims
    # of two claims with one id YAML would keep the second
    assert len(claims) == path.read_text(encoding="utf-8").count("\n    claim: ") > 0
    assert len({each.claim for each in claims.values()}) == len(claims)
    headlines = [each for each in claims.values() if each.headline]
    assert 3 <= len(headlines) <= 5
    assert all(each.place.startswith("abstract") for each in headlines)
    result = verdicts({paper: read}, [], [reported], languages=[])
    assert (result["headline"] == "yes").sum() == 2 * len(headlines)  # protocols
    assert set(result["verdict"]) == {NOT_RUN}
    # a note explains where the paper's own numbers contradict a claim
    contradicted = result[result["reported_bears_out"] == "no"]
    assert (contradicted["note"] != "").all(), contradicted["id"].tolist()


@pytest.mark.parametrize("paper", names())
def test_a_control_is_the_same_finding_elsewhere(paper: str) -> None:
    """It has the region of its claim, the same way to count cases, and says whose it is."""
    reported = ROOT / f"resources/reported/{paper}.csv"
    claims = read_claims(ROOT / f"mbert_atlas/papers/{paper}/claims.yaml", paper, reported).claims
    for name, control in claims.items():
        assert (control.place == "control, ours") == bool(control.control_for), name
        assert not (control.control_for and control.headline), name
        for finding in map(claims.__getitem__, control.control_for):
            assert control.expect == finding.expect, name
            assert len(control.effect) == len(finding.effect), name
            assert not finding.control_for, name

"""Mistakes that only the files of a config or its plan show: named before any job."""

import gzip
import re
import zipfile

import pytest
from configs import CODES, LANGUAGES, ROOT

from mbert_atlas import papers
from mbert_atlas.config.reading import with_lines
from mbert_atlas.errors import DataError
from workflow.files import check_files
from workflow.plan import WorkflowPlan
from workflow.sizes import check_sizes


def plan_of(folder, text, *presets):
    """The plan of a file over presets, and all files of the config."""
    path = folder / "mine.yaml"
    path.write_text(text)
    files = papers.files([*presets, path], ROOT)
    return WorkflowPlan(papers.read_config({}, files, CODES), LANGUAGES, {}, ROOT), files


@pytest.mark.parametrize("preset", ["demo", "small"])
def test_the_presets_name_files_that_can_be_had(tmp_path, preset):
    check_files(plan_of(tmp_path, "offline: true\n", ROOT / f"config/{preset}.yaml")[0])


def planning_errors(folder, text, *presets):
    """The error messages of the checks of files that a config names, over the paper preset."""
    plan, files = plan_of(folder, text, *presets)
    with pytest.raises(DataError) as caught:
        check_files(plan)
    return str(with_lines(caught.value, files)).replace(f"{files[-1]}, ", "")


def test_missing_folders_are_named_with_the_lines_of_their_keys(tmp_path):
    text = f"""mirror: {tmp_path}/absent
encoders:
  mbert: {{hub: null, folder: {tmp_path}/nothing}}
  xlmr:
    hub: null
    folder: {tmp_path}
comparable: false
"""
    errors = planning_errors(tmp_path, text).splitlines()
    for number, sentence in (
        (1, "key mirror: there is no folder"),
        (3, f"key encoders.mbert.folder: {tmp_path}/nothing: there is no such folder; correct"),
        (6, "config.json: the encoder folder lacks this file; fetch or train"),
    ):
        assert any(line.startswith(f"line {number}, ") and sentence in line for line in errors)


def test_files_that_nothing_has_are_named_at_planning(tmp_path):
    mirror = tmp_path / "mirror"
    (mirror / "mine").mkdir(parents=True)
    (mirror / "mine/x.txt").touch()
    (mirror / "MANIFEST.tsv").write_text(f"path\tsha256\nmine/x.txt\t{'0' * 64}\n")
    text = f"""mirror: {mirror}
datasets:
  wikipedia: {{files_by_language: {{hi: [{{path: mine/y.bz2}}]}}}}
  xnli: {{files: xnli/XNLI-1.1.zip}}
  multinli: {{files: mine/x.txt}}
  unused: {{corpus: plain_text, format: lines, languages: [en], files: mine/z.txt}}
"""
    errors = planning_errors(tmp_path, text).splitlines()
    assert errors[0] == "2 mistakes:"
    assert "line 3, key datasets.wikipedia.files_by_language.hi: mine/y.bz2: no so" in errors[1]
    assert "line 4, key datasets.xnli.files: xnli/XNLI-1.1.zip: no source is regi" in errors[2]
    assert "xnli/XNLI-1.0.zip" in errors[2]


def test_files_that_no_synthetic_data_have_are_named_at_planning(tmp_path):
    text = "datasets: {xnli: {files: xnli/XNLI-1.1.zip}, wikipedia: {files: 'a/{wiki}.xml'}}\n"
    errors = planning_errors(tmp_path, text, ROOT / "config/demo.yaml")
    assert "xnli.files: the synthetic data have no xnli/XNLI-1.1.zip; did you mean xnli/X" in errors
    assert "wikipedia.files: the synthetic data have no a/en.xml; drop the dataset." in errors


def adjusting(plan):
    """The targets of papers whose runs start from an adjustment of an encoder."""
    return sorted(
        {family.paper for family in plan.config.runs.values() if family.kind == "adjustment"}
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("run: demo\n", ""),
        (
            "alignment: {held_out: 50000}\n",
            "50000 are held out, and 'wikimatrix' has 5000 se",
        ),
        (
            "runs: {adjusted: {published: {sentences: 3000000}}}\n",
            "adjusted.published.sentences: 30",
        ),
        ("runs: {adjusted-250k: {published: {sentences: 3000000}}}\n", ""),  # nothing needs it
        (
            "miniature: {sizes: {bitext_sentences: 400}}\n",
            "500 are held out, and 'wikimatrix' has 400",
        ),
        ("datasets: {wikimatrix: {limit: 300}}\n", "has 300 sentence pairs of 'hi'; take fewer"),
    ],
)
def test_sizes_above_that_of_a_generated_bitext(tmp_path, text, sentence):
    plan = plan_of(tmp_path, text, ROOT / "config/demo.yaml")[0]
    if not sentence:
        return check_sizes(plan, ["all"])
    with pytest.raises(DataError, match=re.escape(sentence)):
        check_sizes(plan, adjusting(plan))


@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz", "x.txt.zip"])
def test_sizes_above_that_of_a_bitext_that_is_here(tmp_path, name):
    lines = b"a\tb\n" * 79 + b"a\tb"
    (tmp_path / "mine").mkdir()
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / "mine" / name, "w") as archive:
            archive.writestr("x.en", lines)
            archive.writestr("x.ru", lines)
    else:
        (tmp_path / "mine" / name).write_bytes(gzip.compress(lines) if ".gz" in name else lines)
    with pytest.raises(DataError, match="81 sentences are requested, and 'wikimatrix' has 80 sen"):
        check_sizes(*of_bitext(tmp_path, name, 81))
    check_sizes(*of_bitext(tmp_path, name, 80))


def test_a_damaged_bitext_is_left_to_the_job_that_reads_it(tmp_path):
    (tmp_path / "mine").mkdir()
    header = gzip.compress(b"a\tb\n")[:10]
    (tmp_path / "mine/x.txt.gz").write_bytes(header + b"\xff" * 100)  # no block of zlib's
    check_sizes(*of_bitext(tmp_path, "x.txt.gz", 81))


def of_bitext(folder, name, sentences):
    """A plan that adjusts with sentences of a bitext, and the model of one such run."""
    file = f"{{path: mine/{name}, format: manythings}}"
    sources = ", ".join(f"{code}: [{file}]" for code in ("es", "ru", "vi", "hi"))
    text = f"downloads: {folder}\ndatasets: {{wikimatrix: {{files_by_language: {{{sources}}}}}}}\n"
    text += "alignment: {held_out: 79}\nruns: {adjusted: {published: {sentences: %d}}}\n"
    plan = plan_of(folder, text % sentences)[0]
    return plan, [f"results/{plan.config.run}/runs/adjusted-ru.published/seed1/model"]

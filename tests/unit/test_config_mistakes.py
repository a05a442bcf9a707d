"""Mistakes in a user's file over a preset: one sentence at the start, with line, key and fix.

As a start plans: the config, the files that it names, and what artifacts need of encoders.
"""

import re
from pathlib import Path

import pytest
from configs import CODES, LANGUAGES, ROOT

from mbert_atlas import papers
from mbert_atlas.config.reading import with_lines
from mbert_atlas.errors import DataError
from workflow.files import check_files, requesting
from workflow.needs import check_needs
from workflow.plan import WorkflowPlan
from workflow.sizes import check_sizes

COMMIT = "a" * 40
FOLDER = "encoders:\n  mbert:\n    folder: resources/encoders/many\n"
POS = "runs:\n  pos:\n    "
TRAIN = "datasets:\n  trees-train:\n    "


def planned(text: str, preset: str, folder: Path) -> str:
    """What a start of everything says; empty if it says nothing."""
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    presets = [ROOT / f"config/{preset}.yaml"] if preset else []
    try:
        files = papers.files([*presets, path], ROOT)
        config = papers.read_config({}, files, CODES, rules=requesting(ROOT))
        plan = WorkflowPlan(config, LANGUAGES, {}, ROOT)
        try:
            check_files(plan)
            check_needs(plan, ["all"])
            check_sizes(plan, ["all"])
        except DataError as error:
            raise with_lines(error, files) from None
    except DataError as error:
        return str(error).replace(f"{folder}/", "")
    return ""


def tree(path: str, code: str = "en") -> str:
    return f"{TRAIN}files_by_language: {{{code}: [{{path: {path}}}]}}\n"


MISTAKES: dict[str, tuple[str, str, str]] = {
    # what is wrong: preset, file, and its sentence from the line on
    # keys and names
    "a key of the hub": (
        "",
        f"encoders:\n  mbert:\n    hub:\n      repo: a/b\n      revision: {COMMIT}\n",
        "line 4, key encoders.mbert.hub.repo: there is no such key; known: repository, revision",
    ),
    "a key of an encoder": (
        "demo",
        "encoders:\n  mbert: {foldr: x}\n",
        "line 2, key encoders.mbert.foldr: there is no such key; did you mean 'folder'?",
    ),
    "a key of a training, inherited": (
        "demo",
        POS + "published:\n      optimisation: {lr: 1e-4}\n",
        "line 4, key runs.pos.published.optimisation.lr: .*known: optimiser, learning_rate, ",
    ),
    "a key of a family, inherited": (
        "demo",
        POS + "publishd: {optimisation: {epochs: 1}}\n",
        "line 3, key runs.pos.publishd: there is no such key; did you mean 'published'?",
    ),
    "a key of a size": (
        "demo",
        "miniature:\n  sizes: {ud_trains: 10}\n",
        "line 2, key miniature.sizes.ud_trains: there is no such key; did you mean 'ud_train'?",
    ),
    "a rule": (
        "demo",
        "resources:\n  finetun: {mem_mb: 400}\n",
        "line 2, key resources.finetun: 'finetun' is not .* resources; did you mean 'finetune'?",
    ),
    "a section": (
        "demo",
        "encoder: {mbert: {folder: x}}\n",
        "line 1, .*; did you mean 'encoders'?",
    ),
    "hyphens": ("demo", "seeds: [1]\nkeep-models: true\n", "line 2, .*did you mean 'keep_models'?"),
    "a family with variants": (
        "demo",
        "runs:\n  poss-*: {variants: {all: {reinitialised_layers: [1-4]}}}\n",
        r"line 2, key runs.poss-all.*no other file has 'poss-\*', .* did you mean 'pos-\*'\?",
    ),
    "a family to be like": (
        "demo",
        "runs:\n  mine: {like: poss}\n",
        "line 2, key runs.mine.like: 'poss' is not defined; did you mean 'pos'?",
    ),
    "a dataset to predict, inherited": (
        "demo",
        POS + "evaluate: {trees-tset: [en]}\n",
        "line 3, key runs.pos.evaluate: 'trees-tset' is .* data for tagging; .* 'trees-test'?",
    ),
    "an encoding, inherited": (
        "demo",
        POS + "encoding: word-with-tags\n",
        "line 3, key runs.pos.encoding: 'word-with-tags' is .*did you mean 'words-with-tags'?",
    ),
    "a development set, inherited": (
        "demo",
        POS + "published: {selection: {development: trees-deev}}\n",
        "line 3, key runs.pos.published.selection.development: 'trees-deev' .* mean 'trees-dev'?",
    ),
    "a loss, inherited by both protocols": (
        "demo",
        "runs:\n  adjusted:\n    published: {loss: cosine}\n",
        "line 3, key runs.adjusted.published.loss: 'cosine' is no loss; there are: squared_dist",
    ),
    "a format": (
        "",
        "datasets:\n  xnli: {format: xtrem}\n",
        "line 2, key datasets.xnli.format: .*found 'xtrem'; did you mean 'xtreme'?",
    ),
    "an aligner": (
        "demo",
        "alignment: {aligner: fastalign}\n",
        "line 1, key alignment.aligner: .*found 'fastalign'; did you mean 'fast_align'?",
    ),
    "a preset": (
        "demo",
        "seeds: [1]\npreset: tiny\n",
        "line 2, key preset: no paper has a file of 'tiny'; .* name one of demo, small, ",
    ),
    "a preset without its file": (
        "",
        "preset: small-night\n",
        "line 1, key preset: 'small-night' goes over .*config/small.yaml, without which "
        "`comparable` is true; give .*config/small.yaml before the other files",
    ),
    "null for what others need": (
        "demo",
        "encoders:\n  mbert: null\n",
        "line 2, key encoders.mbert: null removes it, and other entries name it; keep it, or cha",
    ),
    # types
    "a text for a list": (
        "demo",
        "datasets:\n  trees-test:\n    languages: en, de\n",
        r"line 3, key datasets.trees-test.languages: .*valid list, .*; write \[en, de\]",
    ),
    "a number for a list": (
        "demo",
        "seeds: 3\n",
        r"line 1, key seeds: .*valid list.*; write \[3\]",
    ),
    "a path for an encoder": (
        "demo",
        "encoders:\n  mbert: /data/mbert\n",
        "line 2, key encoders.mbert: a mapping of keys is expected, found .*write some of hub, fol",
    ),
    "a name for a hub": (
        "",
        "comparable: false\nencoders:\n  mbert: {hub: org/name}\n",
        "line 3, key encoders.mbert.hub: a mapping .* found 'org/name'; write some of repository",
    ),
    "a word for a number": (
        "demo",
        POS + "published: {optimisation: {epochs: three}}\n",
        "line 3, key runs.pos.published.optimisation.epochs: .* integer, found 'three'; correct",
    ),
    "half an epoch": (
        "demo",
        POS + "published: {optimisation: {epochs: 2.5}}\n",
        "line 3, key runs.pos.published.optimisation.epochs: .*valid integer, found 2.5; correct",
    ),
    "a negative rate": (
        "demo",
        POS + "published: {optimisation: {learning_rate: -1e-4}}\n",
        "line 3, .*learning_rate: Input should be greater than 0, found '-1e-4'; correct it",
    ),
    "a unit": (
        "demo",
        "resources: {finetune: {mem_mb: 4G}}\n",
        "line 1, key resources.finetune.mem_mb: .* valid integer, found '4G'; correct it",
    ),
    "a list for a mirror": (
        "demo",
        "mirror: [a, b]\n",
        "line 1, key mirror: .*valid string, found",
    ),
    # layers
    "a layer 0": (
        "demo",
        "runs:\n  pos-*: {variants: {all: {reinitialised_layers: [0-2]}}}\n",
        "line 2, .*reinitialised_layers: '0-2' is neither `embeddings` nor layers such as 7-12",
    ),
    "the wrong way round": (
        "demo",
        "runs:\n  pos-*: {variants: {all: {reinitialised_layers: [4-1]}}}\n",
        "line 2, .*reinitialised_layers: '4-1' is neither `embeddings` nor layers such as",
    ),
    "some layers": (
        "demo",
        POS + "published: {trained_layers: some}\n",
        "line 3, key runs.pos.published.trained_layers: give all, all_but_words, none or a list",
    ),
    # encoders
    "no revision": (
        "",
        "comparable: false\nencoders:\n  mbert:\n    hub:\n      repository: org/name\n",
        "line 4, key encoders.mbert.hub.revision: the key is missing",
    ),
    "an address": (
        "",
        f"encoders:\n  mbert:\n    hub: {{repository: https://a.co/b/c, revision: {COMMIT}}}\n",
        "line 3, key encoders.mbert.hub.repository: .*found 'https://a.co/b/c'; correct it",
    ),
    "a folder and a hub": (
        "",
        f"encoders:\n  mbert:\n    hub: {{repository: a/b, revision: {COMMIT}}}\n    folder: x\n",
        r"line 2, key encoders.mbert: give exactly one of .* \(found hub, folder\)",
    ),
    "a folder and a recipe": (
        "demo",
        FOLDER + "    scratch: {seed: 2}\n",
        r"line 2, key encoders.mbert: give exactly one of .* \(found folder, scratch\)",
    ),
    "a folder that is a file": (
        "demo",
        "encoders:\n  mbert:\n    folder: README.md\n",
        "line 3, key encoders.mbert.folder: README.md: (this is a file|there is no such folder); ",
    ),
    "another encoder's folder": (
        "demo",
        "encoders:\n  extra:\n    folder: models/mine\n",
        "line 3, key encoders.extra.folder: models/mine: there is no such folder; correct the path",
    ),
    "numbers of another encoder": (
        "",
        FOLDER,
        "line 2, key encoders.mbert: with another encoder than .* write `comparable: false`",
    ),
    "a head for what has one": (
        "demo",
        "encoders:\n  mbert: {language_model_head: fitted}\n",
        "line 2, key encoders.mbert: `language_model_head: fitted` is for .*so leave it out",
    ),
    "texts that are longer than the encoder takes": (
        "demo",
        "encodings:\n  parallel-texts: {max_length: 600}\n",
        "line 2, key encodings.parallel-texts.max_length: 600 .* 'mbert' takes 512; write 512 or",
    ),
    "pairs that are longer than the encoder takes": (
        "demo",
        "encoders: {mbert: {scratch: {pretraining: {positions: 80}}}}\n"
        "alignment: {maximum_length: 200}\n",
        "line 2, key alignment.maximum_length: 200 .*'mbert' takes 80; write 80 or fewer",
    ),
    # languages and data
    "a language without synthetic data": (
        "demo",
        "datasets:\n  trees-test:\n    languages: [en, de, fr, ru, hi, ar, zh, tr, sw]\n",
        "line 3, key datasets.trees-test.languages: 'sw' is not defined in the miniature; known: a",
    ),
    "the name of a language": (
        "demo",
        "datasets:\n  trees-test:\n    languages: [English]\n",
        "line 3, key datasets.trees-test.languages: 'English' is not defined; known: ",
    ),
    "three letters": (
        "demo",
        "datasets:\n  trees-test:\n    languages: [eng]\n",
        "line 3, key datasets.trees-test.languages: 'eng' is not defined; did you mean 'en'?",
    ),
    "a treebank's name, once": (
        "small",
        tree("universal-dependencies/r2.4/UD_English-EWTT/en_ewt-ud-train.conllu"),
        "line 3, .*files_by_language.en: .*is of the treebank EWTT, and the file of ewt; correct",
    ),
    "a treebank's split": (
        "small",
        tree("universal-dependencies/r2.4/UD_English-EWT/en_ewt-ud-test.conllu"),
        "line 3, .*.en: .*the file has the split test, and the dataset train; correct the path",
    ),
    "a treebank's language": (
        "small",
        tree("universal-dependencies/r2.4/UD_German-GSD/de_gsd-ud-train.conllu"),
        "line 3, .*.en: .*it is in German, not English; correct the path",
    ),
    "a treebank that is not synthetic": (
        "demo",
        tree("universal-dependencies/UD_English-EWT/en_ewt-ud-train.conllu"),
        "line 3, .*files_by_language.en: the synthetic data have no .*; did you mean .*Miniature",
    ),
    "a placeholder": (
        "small",
        TRAIN + "files: 'r2.4/UD_{name}-PUD/{ud_code}_pud-ud-train.conllu'\n",
        "line 3, key datasets.trees-train.files: .*has a placeholder .*use one of dump, ",
    ),
    "one side of a bitext": (
        "demo",
        "datasets:\n  mine:\n    corpus: bitext\n    format: lines\n    languages: [de]\n"
        "    files_by_language: {de: [{path: a.en}]}\n",
        r"line 2, key datasets.mine: a.en has no file of the other language \(de\); name it",
    ),
    "one file for two sides": (
        "demo",
        "datasets:\n  mine: {corpus: bitext, format: lines, languages: [de], files: a.de}\n",
        "line 2, key datasets.mine: `lines` takes a file of each language, and `files` names one",
    ),
    "no format": (
        "demo",
        "datasets:\n  mine: {corpus: ner, languages: [de], split: test, files: a.de}\n",
        "line 2, key datasets.mine: ner needs `format`; use rahimi, panx, conll2003",
    ),
    "no split": (
        "demo",
        "datasets:\n  mine: {corpus: universal_dependencies, languages: [de], files: a.conllu}\n",
        "line 2, key datasets.mine.split: the key is missing",
    ),
    "the format of CoNLL-U": (
        "demo",
        "datasets:\n  trees-test:\n    format: conllu\n",
        "line 3, key datasets.trees-test.format: there is no such key; bitext, .* have it",
    ),
    "training on a test set": (
        "demo",
        POS + "train: trees-test\n",
        "line 3, key runs.pos.train: 'trees-test' is a test set, which must not be trained on; na",
    ),
    # YAML
    "a blank of a web page": (
        "demo",
        "seeds:\u00a0[1]\n",
        "line 1: #xa0 looks like a blank; write a blank",
    ),
    "a mark that can't be seen": (
        "demo",
        "run: mine\u200b\n",
        "line 1: #x200b looks like a blank; write a blank",
    ),
    "a key twice in braces": (
        "demo",
        POS + "published: {optimisation: {epochs: 1, epochs: 2}}\n",
        "line 3: the key 'epochs' is there twice, first in line 3; keep one of the two",
    ),
    "a section twice": (
        "demo",
        FOLDER + "encoders:\n  xlmr: {sentencepiece: true}\n",
        "line 4: the key 'encoders' is there twice, first in line 1; keep one of the two",
    ),
    "no blank after a colon": ("demo", "run:mine\nseeds: [1]\n", "line 2: not YAML: .*check inden"),
    "a quote that does not end": ("demo", "run: 'mine\nseeds: [1]\n", "line 3: not YAML: .*stream"),
    "a path of Windows": ("demo", 'mirror: "C:\\data"\n', "line 1: not YAML: .*escape character"),
    "a merge of a name": ("demo", "runs:\n  mine:\n    <<: pos\n", "line 3: not YAML: .*merging"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_sentence(case: str, tmp_path: Path) -> None:
    preset, text, sentence = MISTAKES[case]
    said = planned(text, preset, tmp_path)
    assert re.match(f"mine.yaml, {sentence}", said), said
    assert "\n" not in said, said
    assert said.endswith((".", "?"))


def test_own_mistakes_of_several_places_are_all_named(tmp_path: Path) -> None:
    text = "seeds: 3\nencoders: {mbert: x}\nruns: {pos: {encoding: words}, mine: {like: pos}}\n"
    said = planned(text, "demo", tmp_path).splitlines()
    assert said[0] == "2 mistakes:"
    assert [re.match(r"mine.yaml, line (\d)", line)[1] for line in said[1:]] == ["1", "2"]


def test_a_mistake_that_two_families_write_is_named_twice(tmp_path: Path) -> None:
    text = "runs:\n  pos: {encoding: words}\n  entities: {encoding: words}\n"
    said = planned(text, "demo", tmp_path).splitlines()
    assert [re.match(r"mine.yaml, line (\d)", line)[1] for line in said[1:]] == ["2", "3"]


def test_what_looks_odd_and_is_right(tmp_path: Path) -> None:
    text = "world: 'at\u00a0home'\ndatasets: {mine: {corpus: universal_dependencies, split: test, "
    text += "languages: [en], files: universal-dependencies/UD_Mine/x-ud-train.conllu}}\n"
    assert planned(text, "demo", tmp_path) == ""

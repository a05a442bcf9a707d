"""Do the parts of a config fit together? What one key says of others, checked before any job."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from mbert_atlas.config_mistakes import Mistake, check
from mbert_atlas.papers.efimov2022.claims import CONTRASTS

if TYPE_CHECKING:
    from mbert_atlas.config import (
        Config,
        EncodedDataset,
        FinetuningRuns,
        TransferTable,
        TransferTest,
    )

_CORPUS_OF = {"inference": "nli", "tagging": "universal_dependencies"}
_SCORED = ("nli", "named_entities", "question_answering")
PAPERS = ("efimov2022", "tanti2021")
RULES = (
    *("miniature", "extract_wikipedia", "read_bitext", "read_universal_dependencies"),
    *("sample_language_identification", "align", "encode_word_pairs", "train_tokenizer"),
    *("extend_encoder", "encode_pretraining_texts", "encode_examples", "pretrain", "adjust"),
    *("finetune", "choose_hyperparameters", "extract_features", "word_pair_distances"),
    *("identify_languages", "cluster_points", "project_points"),
    *("measure_experiments", "count_examples"),
)
"""Rules whose jobs ask for what ``resources`` says."""


def check_config(config: Config, codes: Collection[str] = ()) -> None:
    """Refuse names that nothing has, and languages or runs that what uses them lacks.

    Args:
        config: valid key by key.
        codes: the language codes that a dataset may name; none: any.

    Raises:
        Mistake: at the first.
    """
    checks = _Checks(config)
    checks.names_exist(codes)
    checks.cells_have_runs()


class _Checks:
    def __init__(self, config: Config) -> None:
        self.config = config

    def names_exist(self, codes: Collection[str]) -> None:
        for name, dataset in self.config.datasets.items():
            at = f"datasets.{name}"
            texts = self._datasets("wikipedia", "plain_text")
            check(f"{at}.paragraphs", dataset.paragraphs, texts, " as running text")
            check(f"{at}.encoder", dataset.encoder, self.config.encoders)
            alike = [other for other in self._datasets(dataset.corpus) if other != name]
            check(f"{at}.made_from", dataset.made_from, alike, f" as {dataset.corpus}")
            for code in dataset.languages:
                check(f"{at}.languages", code, codes or [code])
                below = dataset.paragraphs or dataset.made_from
                if below:
                    self._check_language(f"{at}.languages", code, below)
                elif self.config.miniature:
                    written = ["en", *self.config.miniature.languages]
                    check(f"{at}.languages", code, written, " in the miniature")
        for name in self.config.encoders:
            self._check_encoder(name)
        for name, family in self.config.runs.items():
            at = f"runs.{name}"
            starts = [
                *self.config.encoders,
                *(other for other in self.config.runs if other != name),
            ]
            check(f"{at}.encoder", family.encoder, starts)
            assert family.encoder is not None  # as config_families.spread leaves them
            start = self.config.runs.get(family.encoder)
            if start is not None and start.languages:
                for code in family.languages or ():
                    known = f" in runs.{family.encoder}.languages, where {name!r} starts"
                    check(f"{at}.languages", code, start.languages, known)
            if family.kind == "adjustment":
                check(f"{at}.bitext", family.bitext, self._datasets("bitext"), " as a bitext")
                for code in family.languages:
                    self._check_language(f"{at}.languages", code, family.bitext)
                continue
            replayed = [own for own in (family.published, family.corrected) if own and own.replay]
            adjusting = [key for key, item in self.config.runs.items() if item.kind == "adjustment"]
            if replayed:
                check(f"{at}.encoder", family.encoder, adjusting, " as adjustment to replay")
            encoded = {"train": [family.train], "evaluate": [*family.evaluate]}
            self._check_encoding(at, family.encoding, encoded)
            self._check_confusion(at, family)
            for code in family.train_languages or ():
                for own in family.languages or [code]:
                    filled = code.replace("{language}", own)
                    self._check_language(f"{at}.train_languages", filled, family.train)
            for test, languages in family.evaluate.items():
                for code in languages:
                    if code != "{language}":
                        self._check_language(f"{at}.evaluate.{test}", code, test)
                    elif not family.languages:
                        raise Mistake(
                            f"{at}.evaluate.{test}",
                            "{language} stands for nothing, as the family has no languages",
                            "give it `languages` or name them here",
                        )
        for bitext, gold in self.config.alignment.gold.items():
            check("alignment.gold", bitext, self._datasets("bitext"), " as a bitext")
            golds = self._datasets("gold_alignment")
            check(f"alignment.gold.{bitext}", gold, golds, " as gold_alignment")
        for rule in self.config.resources:
            check(f"resources.{rule}", rule, RULES, " as a rule that takes resources")
        for paper in self.config.papers:
            check("papers", paper, PAPERS)

    def cells_have_runs(self) -> None:
        tuned = [name for name, item in self.config.runs.items() if item.kind == "finetuning"]
        self._check_efimov2022(tuned)
        self._check_tanti2021(tuned)

    def _check_tanti2021(self, tuned: Sequence[str]) -> None:
        paper = self.config.tanti2021
        check("tanti2021.model", paper.model, self.config.encoders)
        for task, item in paper.tasks.items():
            at, first = f"tanti2021.tasks.{task}", next(iter(item.conditions.values()))
            self._check_language_data(f"{at}.wikipedia", item.wikipedia)
            for condition, name in item.conditions.items():
                place = f"{at}.conditions.{condition}"
                check(place, name, tuned, " as fine-tuning")
                family = self.config.runs[name]
                assert family.kind == "finetuning"
                check(place, item.test, family.evaluate, f" in runs.{name}.evaluate")
                beside = self.config.runs[first]  # which was checked before the others
                assert beside.kind == "finetuning"
                if set(family.evaluate[item.test]) != set(beside.evaluate[item.test]):
                    raise Mistake(
                        f"runs.{name}.evaluate.{item.test}",
                        f"the languages are not those of runs.{first}, beside which it is shown",
                        "name the same languages in both",
                    )
                check(f"runs.{name}.encoder", family.encoder, [paper.model], f", as {at} needs it")
                self._check_encoding(at, family.encoding, {"dev": [*item.dev]})
                hyperparameters = family.published
                method = hyperparameters.confusion.method if hyperparameters.confusion else None
                expected = None if condition in ("initial", "fine_tuned") else condition
                if method != expected or hyperparameters.frozen != (condition == "initial"):
                    raise Mistake(
                        place,
                        f"runs.{name}.published is not what the condition names: `frozen` is for "
                        f"initial alone and `confusion.method` is {method!r}, not {expected!r}",
                        "name another family or change this one",
                    )
            for dataset, languages in item.dev.items():
                for code in languages:
                    self._check_language(f"{at}.dev.{dataset}", code, dataset)

    def _check_confusion(self, at: str, family: FinetuningRuns) -> None:
        confused = [own for own in (family.published, family.corrected) if own and own.confusion]
        if confused and family.language_data is None:
            raise Mistake(
                at,
                "`confusion` has no texts whose language could be unlearned",
                "name them in `language_data`",
            )
        if family.language_data is not None:
            self._check_language_data(f"{at}.language_data", family.language_data)

    def _check_language_data(self, at: str, data: EncodedDataset) -> None:
        kind = "language_identification"
        known = [name for name, item in self.config.encodings.items() if item.task == kind]
        check(f"{at}.encoding", data.encoding, known, f" for {kind}")
        check(f"{at}.dataset", data.dataset, self._datasets(kind), f" as {kind}")

    def _check_efimov2022(self, tuned: Sequence[str]) -> None:
        paper = self.config.efimov2022
        check("efimov2022.model", paper.model, self.config.encoders)
        check("efimov2022.bitext", paper.bitext, self._datasets("bitext"), " as a bitext")
        check("efimov2022.pages", paper.pages, self._datasets("wikipedia"), " as wikipedia")
        for code in paper.languages:
            self._check_language("efimov2022.languages", code, paper.pages)
        panels: dict[str, str] = {}
        for name, figure in paper.figures.items():
            at = f"efimov2022.figures.{name}"
            check("efimov2022.figures", name, ("figure1", "figure2"), " as a figure")
            for code in figure.languages:
                self._check_language(f"{at}.languages", code, paper.bitext)
            for panel, shown in figure.panels.items():
                check(f"{at}.panels.{panel}", shown, [*self.config.encoders, *self.config.runs])
                if panels.setdefault(panel, shown) != shown or ":" in panel:
                    raise Mistake(
                        f"{at}.panels.{panel}",
                        "a panel has one name and one family in all figures, without a colon",
                        "rename it",
                    )
                base, seen = shown, set[str]()
                while base in self.config.runs and base not in seen:
                    seen.add(base)
                    base = str(self.config.runs[base].encoder)
                if (
                    base in self.config.encoders and base != paper.model
                ):  # its pieces mean other words
                    raise Mistake(
                        f"{at}.panels.{panel}",
                        f"{shown!r} goes back to the encoder {base!r}, and efimov2022.model is "
                        f"{paper.model!r}",
                        "make them the same",
                    )
                self._check_runs_of(f"{at}.languages", shown, figure.languages)
        for name, table in paper.tables.items():
            self._check_table(f"efimov2022.tables.{name}", name, table, tuned)

    def _check_table(self, at: str, name: str, table: TransferTable, tuned: Sequence[str]) -> None:
        declared = {contrast[:3] for contrast in CONTRASTS}
        known = [key for key, item in self.config.datasets.items() if item.corpus in _SCORED]
        named, tested = set[str](), set[str]()
        for key, test in table.tests.items():
            check(f"{at}.tests.{key}.dataset", test.dataset, known, " with scores")
            for code in test.languages or ():
                self._check_language(f"{at}.tests.{key}.languages", code, test.dataset)
            conditions = table.conditions if test.conditions is None else test.conditions
            place = f"{at}.tests.{key}" if test.conditions else at
            for condition, family in conditions.items():
                where = f"{place}.conditions.{condition}"
                self._check_condition(where, test, family, table, tuned)
            shown = {condition for condition, family in conditions.items() if family}
            named |= shown
            tested.update(self.config.datasets[test.dataset].languages if shown else ())
            for condition, baseline in table.against.items():
                if condition in shown:
                    check(f"{at}.against.{condition}", baseline, shown, f" for the test {key}")
            if shown:
                check(f"{at}.gains_over", table.gains_over, shown, f" for the test {key}")
        for code in table.languages:
            check(f"{at}.languages", code, tested, " in any of its tests")
        for condition, baseline in table.against.items():
            if condition in named and (name, condition, baseline) not in declared:
                raise Mistake(
                    f"{at}.against.{condition}",
                    f"no contrast of {condition!r} with {baseline!r} is declared for {name}",
                    "declare it in mbert_atlas/papers/efimov2022/claims.py",
                )

    def _check_condition(
        self,
        place: str,
        test: TransferTest,
        family: str | None,
        table: TransferTable,
        tuned: Sequence[str],
    ) -> None:
        if family is None:
            return
        name, _, language = family.replace("{runs}", test.runs).partition("/")
        check(place, name, tuned, " as fine-tuning")
        found = self.config.runs[name]
        assert found.kind == "finetuning"
        if language and not found.languages:
            raise Mistake(place, f"{name!r} has one run for all languages", f"write {name!r}")
        check(place, test.dataset, found.evaluate, f" in runs.{name}.evaluate")
        for code in test.languages or table.languages:
            if code in self.config.datasets[test.dataset].languages:
                own = language or code
                if "efimov2022" in self.config.papers:
                    self._check_runs_of(place, name, [own])
                predicted = [
                    item.replace("{language}", own) for item in found.evaluate[test.dataset]
                ]
                where = f" in runs.{name}.evaluate.{test.dataset}"
                check(place, code, predicted, where)

    def _check_runs_of(self, place: str, name: str, languages: Sequence[str]) -> None:
        known = self.config.runs[name].languages if name in self.config.runs else None
        for code in languages if known and "efimov2022" in self.config.papers else ():
            check(place, code, known or (), f" in runs.{name}.languages")

    def _datasets(self, *corpora: str) -> list[str]:
        return [name for name, item in self.config.datasets.items() if item.corpus in corpora]

    def _check_encoder(self, name: str) -> None:
        scratch, extended = self.config.encoders[name].scratch, self.config.encoders[name].extended
        at = f"encoders.{name}.{'scratch' if scratch else 'extended'}"
        source = scratch or extended
        for text in source.texts if source else []:
            texts = self._datasets("wikipedia", "plain_text")
            check(f"{at}.texts", text, texts, " as running text")
            for code in extended.languages if extended else []:
                self._check_language(f"{at}.languages", code, text)
        seen = [name]
        while extended:
            place, base = f"encoders.{seen[-1]}.extended.encoder", extended.encoder
            check(place, base, self.config.encoders)
            if base in seen:
                circle = " -> ".join([*seen, base])
                raise Mistake(place, f"{circle} is a circle", "extend another encoder")
            seen.append(base)
            extended = self.config.encoders[base].extended

    def _check_language(self, place: str, code: str, dataset: str) -> None:
        known = self.config.datasets[dataset].languages
        check(place, code, known, f" in datasets.{dataset}.languages")

    def _check_encoding(
        self, place: str, encoding: str, datasets: Mapping[str, Sequence[str]]
    ) -> None:
        check(f"{place}.encoding", encoding, self.config.encodings)
        task = self.config.encodings[encoding].task
        known = self._datasets(_CORPUS_OF.get(task, task))
        for key, names in datasets.items():
            for name in names:
                check(f"{place}.{key}", name, known, f" as data for {task}")

"""Which files belong to the datasets, encoders and runs of a config."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from mbert_atlas.cells import Cell
from mbert_atlas.config.base import PROTOCOLS, Protocol
from mbert_atlas.config.datasets import Dataset, Source
from mbert_atlas.config.encoders import AlignedStart
from mbert_atlas.config.methods import methods_in
from mbert_atlas.config.model import Config
from mbert_atlas.config.transfer import TransferTable
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.languages import Languages
from mbert_atlas.plan.paths import path
from mbert_atlas.plan.runs import Run, RunTable, filled
from mbert_atlas.sources.register import snapshot_path


class Files:
    """The files of a config, as paths with ``<results>`` and ``<downloads>``.

    Encoders named in ``shipped`` are taken from the repository, not trained.
    """

    def __init__(self, config: Config, languages: Languages, shipped: Collection[str] = ()) -> None:
        self.config, self.languages, self.runs = config, languages, RunTable(config)
        self.shipped = shipped
        self.static = {name: item.encoder for name, item in config.static_vectors.items()}

    # Datasets

    def upstream(self, name: str) -> str:
        """Return the path of an upstream file: downloaded, or written by the miniature."""
        if not self.config.miniature:
            return path("download", path=name)
        return path("synthetic", world=self.world(name), path=name)

    def world(self, name: str) -> str:
        """Return the rule that writes an upstream file of the miniature; texts have one each."""
        if name.startswith("cc100/"):
            return f"miniature_texts_{Path(name).name.partition('.')[0]}"
        return "miniature"

    @cached_property
    def upstream_files(self) -> list[str]:
        """The upstream paths of all datasets, sorted."""
        read = [name for name, item in self.config.datasets.items() if not item.parent]
        return sorted({file for name in read for file in self.upstream_names(name)})

    @cached_property
    def exact_dumps(self) -> set[str]:
        """The upstream paths of dumps that no other date may replace."""
        names = [name for name, item in self.config.datasets.items() if getattr(item, "exact", 0)]
        return {file for name in names for file in self.upstream_names(name)}

    def upstream_names(self, dataset: str, languages: Sequence[str] | None = None) -> list[str]:
        """Return the upstream paths of a dataset (of some languages), each once."""
        item, names = self.config.datasets[dataset], dict[str, None]()
        for language in languages or item.languages:
            for source in sources_of(dataset, item, language, self.languages):
                names |= dict.fromkeys([source.path, *source.partners])
        return list(names)

    def written_by(self, world: str) -> list[str]:
        """Return the upstream files that one of these rules writes."""
        return [self.upstream(name) for name in self.upstream_files if self.world(name) == world]

    def gold(self, dataset: str, language: str) -> list[str]:
        """Return the files with gold links of a bitext, if the language has some."""
        name = self.config.alignment.gold.get(dataset)
        has_gold = name and language in self.config.datasets[name].languages
        return self.sources(name, language) if name and has_gold else []

    def sources(self, dataset: str, language: str | None = None) -> list[str]:
        """Return the files that a dataset (or one language of it) is read from."""
        names = self.upstream_names(dataset, [language] if language else None)
        return list(map(self.upstream, names))

    def table(self, dataset: str, language: str | None = None) -> str:
        """Return the Parquet file of a dataset, of one language where each has a file."""
        if self.config.datasets[dataset].by_language:
            return path("language_table", dataset=dataset, language=language)
        return path("table", dataset=dataset)

    def tables_of(
        self, datasets: Iterable[str], languages: Collection[str] | None = None
    ) -> list[str]:
        """Return the Parquet files of datasets by language, in all or some of their languages."""
        return [
            self.table(dataset, language)
            for dataset in datasets
            for language in self.config.datasets[dataset].languages
            if languages is None or language in languages
        ]

    def parents(self, dataset: str, language: str | None = None) -> list[str]:
        """Return the tables that a dataset (or one language of it) is derived from."""
        item: Any = self.config.datasets[dataset]
        codes = [language] if language else item.languages
        return list(dict.fromkeys(self.table(item.parent, code) for code in codes))

    def dataset_tokenizer(self, dataset: str) -> str | list[str]:
        """Return the tokenizer that is needed to derive a dataset, if any."""
        encoder = self.config.datasets[dataset].tokenizer_of
        return self.tokenizer(encoder) if encoder else []

    def select_datasets(
        self, *, derived: bool, by_language: bool, large: bool | None = None
    ) -> list[str]:
        """Return the datasets whose tables are made by jobs of one kind."""
        return [
            name
            for name, item in self.config.datasets.items()
            if item.function
            if bool(item.parent) == derived
            if item.by_language == by_language
            if large in (None, item.is_large)
        ]

    # Encoders

    def encoder(self, encoder: str) -> str:
        """Return the folder of an encoder of the config."""
        item = self.config.encoders[encoder]
        if encoder in self.shipped:
            return path("shipped", encoder=encoder)
        if item.scratch or item.changed:
            return path("encoder", encoder=encoder)
        if item.folder and not (Path(item.folder) / "tokenizer.json").exists():
            return path("converted", encoder=encoder)
        return item.folder or path("download", path=self.snapshot(encoder))

    def snapshot(self, name: str) -> str:
        """Return the path of a hub encoder's snapshot below mirrors and downloads."""
        hub = self.config.encoders[name].hub
        assert hub is not None
        return snapshot_path(hub.repository, hub.revision)

    def tokenizer(self, encoder: str) -> str:
        """Return the folder of an encoder's tokenizer, which exists before the encoder does."""
        item = self.config.encoders[encoder]
        if item.scratch and encoder not in self.shipped:
            if item.scratch.tokenizer_of:
                return self.tokenizer(item.scratch.tokenizer_of)
            return path("tokenizer", encoder=encoder)
        return path("extended", encoder=encoder) if item.changed else self.encoder(encoder)

    def allows_unknown(self, encoder: str) -> bool:
        """Return whether a tokenizer may lack a language; the papers' encoders are as they are."""
        return self.config.comparable or self.config.encoders[encoder].allow_unknown

    def tokenised_by(self, encoder: str) -> str:
        """Return the encoder under whose name texts are tokenised: the tokenizer's first one."""
        scratch = self.config.encoders[encoder].scratch
        return (scratch.tokenizer_of if scratch else None) or encoder

    def pretraining_texts(self, encoder: str, training: str = "pretraining") -> list[str]:
        """Return the texts that an encoder, or its language-model ``head``, is trained on."""
        item: Any = self.config.encoders[encoder]
        is_head = training == "head"
        origin: Any = self.config.fitted_head if is_head else item.changed or item.scratch
        return self.tables_of(origin.texts, origin.languages)

    def pretraining(
        self, encoder: str, training: str = "pretraining", keys: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Return the hyperparameters of that training, all or some, as plain values."""
        if training == "head":
            return self.head_fitting(*keys)
        item: Any = self.config.encoders[encoder]
        section = item.changed.training if item.changed else item.scratch.pretraining
        values: dict[str, Any] = section.model_dump(mode="json", include=set(keys) or None)
        return values

    def head_fitting(self, *keys: str) -> dict[str, Any]:
        """Return the hyperparameters of fitting language-model heads, all or some."""
        head = self.config.fitted_head
        return head.training.model_dump(mode="json", include=set(keys) or None) if head else {}

    def heads(self, encoder: str) -> dict[int | None, str]:
        """Return the language-model heads of an encoder by seed: its own has none.

        They are named as in paths: ``mbert``, or fitted ones ``mbert/seed1``, ``mbert/seed2``.
        """
        fitted = self.config.fitted_head
        if not (self.config.encoders[encoder].language_model_head and fitted):
            return {None: encoder}
        return {seed: f"{encoder}/seed{seed}" for seed in fitted.seeds}

    def aligned_start(self, encoder: str) -> AlignedStart | None:
        """Return how word embeddings are initialised from translations, if they are."""
        scratch = self.config.encoders[encoder].scratch
        return scratch.aligned_start if scratch else None

    def start_bitexts(self, encoder: str) -> list[str]:
        """Return the translations that word embeddings are initialised from."""
        start = self.aligned_start(encoder)
        return self.tables_of(start.bitexts) if start else []

    # Runs

    def model(self, run: Run, seed: int | str) -> str:
        """Return the model of a run."""
        return path("model", run=run.id, seed=seed)

    def predictions(self, run: Run, seed: int | str) -> str:
        """Return the predictions of a run."""
        return path("predictions", run=run.id, seed=seed)

    @cached_property
    def _seeds(self) -> dict[str, set[int]]:
        """The seeds of each run: its own, and those of runs that start from it, as draws do."""
        seeds = {run.id: set(run.seeds) for run in self.runs}
        for run in self.runs:
            if run.start:
                seeds[run.start].update(run.seeds)
        return seeds

    def start(self, run: str, seed: int | str) -> str:
        """Return the model that a run starts from; an AtlasError if the run has no such seed."""
        if int(seed) not in self._seeds[run]:
            numbers = ", ".join(map(str, sorted(self._seeds[run])))
            raise AtlasError(f"The run {run} has no seed {seed}; its seeds are {numbers}.")
        item = self.runs[run]
        return self.model(self.runs[item.start], seed) if item.start else self.encoder(item.base)

    def pairs(self, run: str) -> str:
        """Return the word pairs of an adjustment, as token ids."""
        item = self.runs[run]
        part = item.specification.get("pairs", "train")
        return path("pairs", encoder=item.base, **alignment_of(item), part=part)

    def aligner(self, suffix: str) -> str:
        """Return the aligner of a path's wildcard ``aligner``."""
        return suffix[1:] or self.config.alignment.aligner

    def encoded(self, encoder: str, dataset: str, encoding: str) -> str:
        """Return the token store of a dataset under an encoder's tokenizer."""
        tokenizer = self.tokenised_by(encoder)
        return path("examples", encoder=tokenizer, encoding=encoding, dataset=dataset)

    def examples(self, run: Run, dataset: str) -> str:
        """Return the token store of a dataset as a fine-tuning run reads it."""
        return self.encoded(run.base, dataset, self.encoding(run))

    def encoding(self, run: Run) -> str:
        """Return the name of the encoding of a fine-tuning run."""
        family: Any = self.config.runs[run.family]
        return str(family.encoding)

    def finetuning_inputs(self, run: str, seed: str) -> dict[str, Any]:
        """Return the files that a fine-tuning run reads, by name, those of its methods included."""
        item = self.runs[run]
        datasets = item.specification["train"], *item.specification["evaluate"]
        train, *evaluate = (self.examples(item, dataset) for dataset in datasets)
        methods = methods_in(item.specification["hyperparameters"]).values()
        return {
            **{k: file for method in methods for k, file in method.inputs(item, self).items()},
            "encoder": self.start(run, seed),
            "train": train,
            "evaluate": evaluate,
            "choice": self.choice(run),
        }

    def choose_by(self, search: str, protocol: Protocol) -> dict[str, Any]:
        """Return the metric and the languages that decide between the draws of a search."""
        run = self.runs[next(iter(self.runs.searches[search]))]
        family: Any = self.config.runs[run.family]
        criterion = family.search.choose_by.model_dump()[protocol]
        codes = filled(criterion["languages"] or [], run.language) or None
        unit = self.config.encodings[family.encoding].scored
        return {"unit": unit, **criterion, "languages": codes}

    def drawn_predictions(self, search: str) -> list[str]:
        """Return the predictions of all draws of a search."""
        runs = [self.runs[run] for run in self.runs.searches[search]]
        return [self.predictions(run, run.seeds[0]) for run in runs]

    def choice(self, run: str) -> str | list[str]:
        """Return what a search has chosen for a run, where the run waits for one."""
        searched = self.runs[run].specification.get("search")
        return f"<results>/search/{searched}.json" if searched else []

    def static_examples(self, family: str, static: str) -> dict[str, Any]:
        """Return training and test examples of a family as static vectors read them."""
        item: Any = self.config.runs[family]
        encoder, datasets = self.static[static], [item.train, *item.evaluate]
        train, *evaluate = (self.encoded(encoder, name, item.encoding) for name in datasets)
        return {"train": train, "evaluate": evaluate}

    # Representations

    def directions(self, encoder: str, dataset: str, languages: str = "all") -> str:
        """Return the directions that identify languages: all of a dataset's, or those of a set."""
        return path("directions", encoder=encoder, dataset=dataset, languages=languages)

    def dictionaries(self, dictionary: str, language: str) -> list[str]:
        """Return the dictionaries that list words of a language: for English all of them."""
        return self.tables_of([dictionary], None if language == "en" else [language])

    # Cells

    def seeded_runs(
        self, family: str, language: str | None = None
    ) -> Iterator[tuple[Protocol, Run, int]]:
        """Yield protocol, run and seed of everything that a family trains for a language."""
        for protocol in PROTOCOLS:
            run = self.runs.get(family, language, protocol)
            for seed in run.seeds:
                yield protocol, run, seed

    def cells(self, run: Run, languages: Sequence[str], **columns: Any) -> list[Cell]:
        """Return a cell per seed and target language of a fine-tuning run, with other columns."""
        columns["kind"] = run.task
        return [
            Cell(language=code, seed=seed, path=predictions, **columns)
            for seed in run.seeds
            for predictions in [self.predictions(run, seed)]
            for code in languages
        ]

    def transfer_cells(self, table: TransferTable) -> list[Cell]:
        """Return the cells of a table of zero-shot transfer."""
        return [
            Cell(
                task=task,
                kind=run.task,
                dataset=test.dataset,
                source=source,
                language=language,
                condition=condition,
                protocol=protocol,
                seed=seed,
                path=self.predictions(run, seed),
                questions=getattr(dataset, "questions", "same"),
                normalisation=test.normalisation,
            )
            for task, test in table.tests.items()
            for dataset in [self.config.datasets[test.dataset]]
            for source, condition, shown in table.families(test)
            for family, _, fixed in [shown.partition("/")]
            for language in test.languages or table.languages
            if language in dataset.languages
            for protocol, run, seed in self.seeded_runs(family, fixed or language)
            if protocol in table.protocols
        ]


def links_of(run: Run) -> tuple[str, str, str]:
    """Return bitext, language and aligner, as in paths, of the word links behind an adjustment."""
    aligner = run.specification.get("aligner")
    return run.specification["bitext"], str(run.language), f".{aligner}" if aligner else ""


def alignment_of(run: Run) -> dict[str, str]:
    """Return the same as wildcards."""
    return dict(zip(("dataset", "language", "aligner"), links_of(run), strict=True))


def sources_of(name: str, dataset: Dataset, language: str, languages: Languages) -> list[Source]:
    """Return the upstream files of one language of a dataset, placeholders filled in.

    Raises a DataError if the config names no file for that language.
    """
    files = (dataset.files_by_language or {}).get(language)
    if files is None and dataset.files is not None:
        files = [Source(path=dataset.files, partners=dataset.partners)]
    if not files:
        place, fix = f"key datasets.{name}.files_by_language", "add them or drop the language"
        raise DataError("config", place, f"no files for language {language!r}", fix)
    row = languages[language]
    values = {
        "language": language,
        "subdomain": row.wiki,
        "wiki": row.wiki.replace("-", "_"),  # dump files write zh-classical as zh_classical
        "dump": getattr(dataset, "dump", None),
        "pair": "-".join(sorted(["en", language])),
        **row.model_dump(include={"ud_code", "iso639_3", "ntrex", "tatoeba", "ud_name"}),
    }
    return [
        Source.model_construct(
            path=source.path.format(**values),
            format=source.format or getattr(dataset, "format", None),
            partners=[partner.format(**values) for partner in source.partners],
        )
        for source in files
    ]

"""The config as pydantic models: every key described, unknown keys refused.

``mbert_atlas.config_files`` writes these descriptions into the files of ``config/``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from mbert_atlas.miniature.sizes import MiniatureSizes
from mbert_atlas.scorecard.rules import CONTRASTS
from mbert_atlas.specifications import (
    Adjustment,
    Extension,
    MaskedTraining,
    Optimisation,
    Pretraining,
    Probe,
    Replay,
)

Protocol = Literal["published", "corrected"]
PROTOCOLS: tuple[Protocol, ...] = ("published", "corrected")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Miniature(_Model):
    """The generated little world that stands in for every upstream source."""

    languages: list[str] = Field(description="Languages to write; English is always one of them.")
    seed: int = Field(1, description="Seed of the grammar; the same seed gives the same bytes.")
    sizes: MiniatureSizes = Field(
        default_factory=MiniatureSizes, description="How much of each format is written."
    )


class Source(_Model):
    """One upstream file and how to read it."""

    path: str = Field(
        description="Path in the mirror layout; may hold {language}, {wiki}, {pair}, {iso639_3}, "
        "{ntrex}, {tatoeba}, {ud_name}, {ud_code}."
    )
    format: str | None = Field(None, description="Reader; none takes the dataset's format.")
    partners: list[str] = Field(
        [],
        description="Files that belong to it: other side of a line-parallel pair, labels, links.",
    )
    limit: int | None = Field(None, ge=1, description="bitext: keep at most this many pairs.")


_WITH_SPLITS = ("nli", "universal_dependencies", "named_entities", "question_answering")
_MADE = ("nli", "question_answering", "bitext")
_ONE_FILE = ("wikipedia", "nli", "named_entities", "question_answering")


class Dataset(_Model):
    """An upstream corpus made into tidy Parquet, or a set sampled from another one."""

    corpus: Literal[
        "wikipedia",
        "plain_text",
        "bitext",
        "gold_alignment",
        "universal_dependencies",
        "nli",
        "named_entities",
        "question_answering",
        "language_identification",
    ] = Field(description="Kind of corpus; it decides the reader and the columns.")
    format: str | None = Field(None, description="Upstream format, where a corpus has several.")
    split: Literal["train", "validation", "dev", "test"] | None = Field(
        None, description="Which upstream split to read, where a corpus has several."
    )
    languages: list[str] = Field(description="Language codes, rows of resources/languages.csv.")
    files: str | None = Field(
        None, description="Upstream path for every language, with placeholders."
    )
    files_by_language: dict[str, list[Source]] | None = Field(
        None, description="Upstream files of single languages; they win over `files`."
    )
    limit: int | None = Field(None, ge=1, description="Keep at most this many items per language.")
    minimum_characters: int = Field(
        100, ge=1, description="Shortest Wikipedia paragraph that is kept (tanti2021)."
    )
    made_from: str | None = Field(
        None,
        description="Dataset of the same kind that this one is made from. nli: one side of each "
        "pair becomes English (efimov2022); question_answering: see `questions`; bitext: words "
        "become the pieces of `encoder`.",
    )
    questions: Literal["same", "target", "english"] = Field(
        "same",
        description="question_answering: questions in the language of the paragraphs; or in the "
        "target language about English paragraphs; or in English about the target's.",
    )
    sample_seed: int | None = Field(
        None,
        description="named_entities, question_answering: seed of a random sample of `limit` items; "
        "none takes the first.",
    )
    paragraphs: str | None = Field(
        None, description="language_identification: the dataset to sample paragraphs from."
    )
    encoder: str | None = Field(
        None,
        description="language_identification: paragraphs with [UNK] under its vocabulary go out; "
        "bitext: see `made_from`.",
    )
    fractions: tuple[float, float, float, float] = Field(
        (0.7, 0.1, 0.1, 0.1),
        description="language_identification: shares of train, validation, dev and test.",
    )
    minimum_per_language: int = Field(
        10, ge=1, description="language_identification: fewer paragraphs in a language: an error."
    )
    seed: int = Field(0, description="Seed of the sample.")

    @model_validator(mode="after")
    def _has_input(self) -> Dataset:
        sampled = self.corpus == "language_identification"
        if sampled and not (self.paragraphs and self.encoder):
            raise ValueError("language_identification needs `paragraphs` and `encoder`")
        given = self.files is not None or self.files_by_language is not None
        if self.made_from and (given or self.corpus not in _MADE):
            raise ValueError(f"`made_from` is for {', '.join(_MADE)}, without files")
        if self.made_from and self.corpus == "bitext" and not self.encoder:
            raise ValueError("a bitext made from another needs `encoder`, whose pieces it takes")
        if self.made_from and self.corpus == "question_answering" and self.questions == "same":
            raise ValueError("`made_from` needs `questions: target` or `questions: english`")
        if not (sampled or self.made_from or given):
            raise ValueError("give `files` or `files_by_language`")
        if self.corpus in _WITH_SPLITS and self.split is None and not self.made_from:
            raise ValueError(f"{self.corpus} needs `split`")
        if self.limit and self.corpus in ("wikipedia", "gold_alignment"):
            raise ValueError(f"{self.corpus} is read whole: drop `limit`")
        for language, sources in (self.files_by_language or {}).items():
            if self.corpus in _ONE_FILE and len(sources) > 1:
                raise ValueError(f"{self.corpus} takes one file, not {len(sources)} ({language})")
            if self.corpus != "bitext" and any(source.limit for source in sources):
                raise ValueError(f"only a bitext has a `limit` per file ({language})")
        return self


class Encoding(_Model):
    """How a task's examples become token ids."""

    task: Literal[
        "inference", "tagging", "named_entities", "question_answering", "language_identification"
    ] = Field(description="The task whose examples are encoded.")
    max_length: int = Field(128, ge=8, description="Longest example in pieces, specials included.")
    segment_ids: bool = Field(
        True, description="inference: mark the second text by token type 1 (false: all zero)."
    )
    drop_unknown: bool = Field(False, description="Leave out examples with [UNK] (tanti2021).")
    labelled_pieces: Literal["first", "non_continuation"] = Field(
        "first", description="tagging, named_entities: which pieces of a word carry its label."
    )
    doc_stride: int = Field(
        128, ge=1, description="question_answering: pieces by which windows overlap (or advance)."
    )
    stride_is: Literal["overlap", "step"] = Field(
        "overlap",
        description="question_answering: whether windows overlap or advance by `doc_stride`.",
    )


class Hub(_Model):
    """An encoder on the Hugging Face hub, pinned."""

    repository: str = Field(description="Repository id.")
    revision: str = Field(description="Commit hash.")


class Scratch(_Model):
    """An encoder pretrained by the workflow."""

    texts: list[str] = Field(description="Datasets (wikipedia or plain_text) to learn from.")
    pretraining: Pretraining = Field(description="Size and training of the encoder.")
    seed: int = Field(1, description="Seed of the initial weights, masks and batches.")


class Extended(_Model):
    """An encoder with more word pieces, pretrained further (Wang et al. 2020, EmBERT)."""

    encoder: str = Field(description="The encoder to extend.")
    texts: list[str] = Field(
        min_length=1, description="Datasets (wikipedia or plain_text) to learn from."
    )
    languages: list[str] = Field(
        min_length=1, description="Which of their languages to learn from; each dataset has them."
    )
    extension: Extension = Field(
        default_factory=Extension, description="Which pieces are new, and their first embeddings."
    )
    training: MaskedTraining = Field(
        default_factory=MaskedTraining, description="The pretraining that follows."
    )
    seed: int = Field(1, description="Seed of the new embeddings, masks and batches.")


class Encoder(_Model):
    """Where an encoder comes from: exactly one of hub, folder, scratch and extended."""

    hub: Hub | None = Field(None, description="Hub repository at a pinned revision.")
    folder: str | None = Field(None, description="Local folder with safetensors and a tokenizer.")
    scratch: Scratch | None = Field(None, description="Pretrain from scratch.")
    extended: Extended | None = Field(None, description="Extend another encoder's vocabulary.")

    @model_validator(mode="after")
    def _one_source(self) -> Encoder:
        sources = ("hub", "folder", "scratch", "extended")
        given = [name for name in sources if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"give exactly one of {', '.join(sources)} (found {', '.join(given) or 'none'})"
            )
        return self


class Head(_Model):
    """The classifier on top of the encoder."""

    dropout: float = Field(0.1, ge=0, lt=1, description="Dropout before the linear layer.")
    initial_stddev: float | None = Field(
        None, gt=0, description="Standard deviation of its initial weights; none takes BERT's .02."
    )


class Finetuning(_Model):
    """Hyperparameters of one fine-tuning under one protocol."""

    optimisation: Optimisation = Field(
        default_factory=Optimisation, description="Optimiser, schedule, batches."
    )
    head: Head = Field(default_factory=Head, description="The classifier.")
    replay: Replay | None = Field(
        None,
        description="Alignment replayed at each step (efimov2022, Eq. 2); the run then starts from "
        "an adjustment, whose sentences come again.",
    )


class _RunFamily(_Model):
    like: str | None = Field(
        None,
        description="Another family that this one is like but for the keys given here; within "
        "`published` and `corrected` key by key, and `published` counts for both.",
    )
    paper: str = Field(description="Paper that the cost of these runs is booked on.")
    encoder: str | None = Field(
        None, description="An encoder, or another family of runs to start from."
    )
    encoders: list[str] | None = Field(
        None,
        description="Several of them, each for a family of its own: `*` in the family's name "
        "stands for the encoder.",
    )
    languages: list[str] | None = Field(
        None,
        description="One run per language; none: as the family it starts from, or one run for all.",
    )
    seeds: list[int] | None = Field(None, description="Seeds; none takes the top-level list.")

    @model_validator(mode="after")
    def _one_way_to_start(self) -> _RunFamily:
        if (self.encoder is None) == (self.encoders is None):
            raise ValueError("give one of `encoder` and `encoders`")
        return self


class AdjustmentRuns(_RunFamily):
    """Cross-lingual adjustment of an encoder (efimov2022, Eq. 1)."""

    kind: Literal["adjustment"] = Field(description="Kind of runs.")
    languages: list[str] = Field(min_length=1, description="One run per language of the bitext.")
    bitext: str = Field(description="Bitext dataset whose word pairs are pulled together.")
    published: Adjustment = Field(description="What the authors' code does.")
    corrected: Adjustment | None = Field(
        None,
        description="What the equations and good practice ask, as far as it differs from "
        "`published`; none: the same.",
    )


class FinetuningRuns(_RunFamily):
    """Fine-tuning on a task and predictions on its test sets."""

    kind: Literal["finetuning"] = Field(description="Kind of runs.")
    encoding: str = Field(description="One of `encodings`.")
    train: str = Field(description="Dataset to train on.")
    train_languages: list[str] | None = Field(
        None, description="Which of its languages, {language} being the run's own; none: all."
    )
    evaluate: dict[str, list[str]] = Field(
        description="Datasets to predict, each with its languages. {language} is the run's own; a "
        "dataset that lacks it is left out."
    )
    published: Finetuning = Field(
        default_factory=Finetuning, description="What the authors' code does."
    )
    corrected: Finetuning | None = Field(
        None,
        description="What good practice asks, as far as it differs from `published`; none: the "
        "same.",
    )


Runs = Annotated[AdjustmentRuns | FinetuningRuns, Field(discriminator="kind")]


class Representation(_Model):
    """Vectors of a dataset under an encoder, cached for probes and projections."""

    encoder: str = Field(description="An encoder.")
    encoding: str = Field(description="One of `encodings`.")
    dataset: str = Field(description="Dataset to encode.")
    pooling: Literal["cls", "pooler", "mean"] = Field(description="How a text becomes one vector.")
    layers: Literal["last", "all"] = Field("last", description="Hidden states that are kept.")


class Alignment(_Model):
    """Word alignment of the bitexts."""

    backend: Literal["numpy", "systran", "fast_align"] = Field(
        "numpy",
        description="fast_align's model: our own code, the wheel systran-align, or the binary "
        "fast_align on PATH; the links are the same.",
    )
    symmetrisation: Literal["intersection", "one_to_one", "union"] = Field(
        "intersection", description="Which links of the two directions are kept."
    )
    maximum_words: int = Field(
        64, ge=1, description="Longest sentence on either side (authors' loader)."
    )
    drop_identical: bool = Field(
        True, description="Drop word pairs with the same spelling on both sides (authors' loader)."
    )
    held_out: int = Field(
        5000, ge=1, description="Sentences per language kept out of adjustment, for histograms."
    )
    maximum_length: int = Field(128, ge=8, description="Longest sentence in pieces.")
    gold: dict[str, str] = Field(
        default_factory=dict,
        description="For a bitext dataset, the gold_alignment dataset that scores its alignment.",
    )


class Resources(_Model):
    """What one job of a rule asks for on its first attempt; memory and time grow on each retry."""

    threads: int = Field(1, ge=1, description="CPU threads.")
    mem_mb: int = Field(2000, ge=100, description="Memory in MB.")
    runtime: int = Field(30, ge=1, description="Time limit in minutes.")
    gpu: int = Field(0, ge=0, description="GPUs; the same code runs on the CPU without one.")


class TransferTest(_Model):
    """One test set of a table of zero-shot transfer."""

    dataset: str = Field(description="Dataset that was predicted.")
    runs: str = Field(description="What {runs} stands for in the names of families.")
    languages: list[str] | None = Field(
        None, description="Target languages, if not the table's; the dataset's among them count."
    )
    conditions: dict[str, str | None] | None = Field(
        None, description="Conditions, if not the table's."
    )
    normalisation: Literal["squad", "mlqa"] = Field(
        "squad",
        description="question_answering: how `corrected` compares answers; `published` always as "
        "SQuAD does.",
    )


class TransferTable(_Model):
    """A table of scores by condition and target language (Tables 2 to 9)."""

    model: str = Field("mbert", description="Encoder before adjustment, as reported.")
    languages: list[str] = Field(description="Target languages.")
    tests: dict[str, TransferTest] = Field(
        description="Test sets by their name in the reported numbers."
    )
    conditions: dict[str, str | None] = Field(
        description="Condition, and the family of runs that shows it; {runs} is the test's. "
        "family/language takes a run that is not the target's; none leaves a condition out."
    )
    against: dict[str, str] = Field(
        default_factory=dict,
        description="Which condition each condition is tested against.",
    )
    gains_over: Literal["original"] | None = Field(
        None, description="The table shows gains over this condition; none: scores."
    )


class Histograms(_Model):
    """A figure of distances between words."""

    languages: list[str] = Field(description="Target languages.")
    panels: dict[str, str] = Field(
        description="Panels: name, and the encoder or family of runs that it shows."
    )


class Efimov2022(_Model):
    """Efimov et al., cross-lingual adjustment."""

    model: str = Field("mbert", description="Encoder of the figures before adjustment.")
    bitext: str = Field("wikimatrix", description="Bitext dataset of the pairs in the figures.")
    pairs: int = Field(10000, ge=10, description="Related, and as many unrelated, word pairs.")
    figures: dict[str, Histograms] = Field(description="Figures 1 and 2.")
    pages: str = Field(description="Wikipedia dataset whose articles Table 1 counts.")
    languages: list[str] = Field(description="Languages of Table 1.")
    tables: dict[str, TransferTable] = Field(description="Tables 2 to 9.")


class Tanti2021(_Model):
    """Tanti et al., language-specificity."""

    representation: str = Field(description="Text vectors of the initial encoder.")
    tagging: str = Field(description="Family of runs fine-tuned on UDPOS.")
    per_language: int = Field(100, ge=2, description="Points per language in the t-SNE (App. B).")
    perplexity: float = Field(30.0, gt=0, description="Perplexity of the t-SNE.")
    probe: dict[Protocol, Probe] = Field(description="Language identification probe by protocol.")
    seeds: list[int] | None = Field(None, description="Seeds of the probe; none: the top-level.")


class Config(_Model):
    """Everything a preset decides."""

    run: str = Field(
        "paper", pattern=r"^[A-Za-z0-9_-]+$", description="Results go to results/<run>."
    )
    comparable: bool = Field(
        True, description="Whether the numbers may be read beside the papers' (data, encoder)."
    )
    mirror: str | None = Field(None, description="Folder that every fetch looks in first.")
    downloads: str = Field("resources/downloads", description="Where fetched files go.")
    offline: bool = Field(False, description="Never use the network; name all missing files.")
    seeds: list[int] = Field([1, 2, 3, 4, 5], min_length=1, description="Seeds of every run.")
    papers: list[str] = Field(
        ["efimov2022", "tanti2021"], description="Papers whose artifacts `all` makes."
    )
    miniature: Miniature | None = Field(
        None, description="Generate the data instead of fetching it (demo)."
    )
    datasets: dict[str, Dataset] = Field(description="Corpora by name.")
    alignment: Alignment = Field(default_factory=Alignment, description="Word alignment.")
    encoders: dict[str, Encoder] = Field(description="Encoders by name.")
    encodings: dict[str, Encoding] = Field(description="Ways to turn examples into token ids.")
    representations: dict[str, Representation] = Field(
        default_factory=dict, description="Cached vectors by name."
    )
    runs: dict[str, Runs] = Field(default_factory=dict, description="Families of training runs.")
    efimov2022: Efimov2022 = Field(description="Artifacts of efimov2022.")
    tanti2021: Tanti2021 = Field(description="Artifacts of tanti2021.")
    resources: dict[str, Resources] = Field(
        default_factory=dict, description="What the jobs of a rule ask for."
    )

    @field_validator("seeds")
    @classmethod
    def _distinct(cls, seeds: list[int]) -> list[int]:
        if len(set(seeds)) != len(seeds):
            raise ValueError("the same seed twice")
        return seeds

    @field_validator("runs", mode="before")
    @classmethod
    def _like_others(cls, runs: Any) -> Any:
        if not isinstance(runs, Mapping) or not all(
            isinstance(family, Mapping) for family in runs.values()
        ):
            return runs  # pydantic says what is wrong with it

        def complete(name: str, seen: Sequence[str] = ()) -> Mapping[str, Any]:
            family: Mapping[str, Any] = runs[name]
            other = family.get("like")
            if other is None:
                return family
            if name in seen:
                circle = " -> ".join([*seen, name])
                raise Mistake(f"runs.{name}.like", f"{circle} is a circle", "break it")
            _check(f"runs.{name}.like", other, runs)
            return _like(complete(other, [*seen, name]), family)

        return {name: _corrected_over_published(complete(name)) for name in runs}

    @field_validator("runs")
    @classmethod
    def _one_family_per_encoder(cls, runs: dict[str, Runs]) -> dict[str, Runs]:
        families: dict[str, Runs] = {}
        for name, family in runs.items():
            if (family.encoders is not None) != ("*" in name):
                raise Mistake(
                    f"runs.{name}",
                    "`*` in a family's name and its key `encoders` belong together",
                    "write both or neither",
                )
            for encoder in [""] if family.encoders is None else family.encoders:
                own = name.replace("*", encoder)
                if own in families:
                    raise Mistake(f"runs.{name}", f"{own!r} is there twice", "rename one")
                update = {"encoder": encoder, "encoders": None} if encoder else {}
                families[own] = family.model_copy(update=update)
        for name, family in families.items():
            below = families.get(family.encoder or "")
            # A chain of families inherits in the order of the config.
            if family.languages is None and below is not None and below.languages:
                families[name] = family.model_copy(update={"languages": below.languages})
        return families

    @model_validator(mode="after")
    def _names_exist(self, info: ValidationInfo) -> Config:
        codes = (info.context or {}).get("languages") or ()
        for name, dataset in self.datasets.items():
            at = f"datasets.{name}"
            texts = self._datasets("wikipedia", "plain_text")
            _check(f"{at}.paragraphs", dataset.paragraphs, texts, " as running text")
            _check(f"{at}.encoder", dataset.encoder, self.encoders)
            alike = [other for other in self._datasets(dataset.corpus) if other != name]
            _check(f"{at}.made_from", dataset.made_from, alike, f" as {dataset.corpus}")
            for code in dataset.languages:
                _check(f"{at}.languages", code, codes or [code])
                below = dataset.paragraphs or dataset.made_from
                if below:
                    self._check_language(f"{at}.languages", code, below)
                elif self.miniature:
                    written = ["en", *self.miniature.languages]
                    _check(f"{at}.languages", code, written, " in the miniature")
        for name in self.encoders:
            self._check_encoder(name)
        for name, item in self.representations.items():
            at = f"representations.{name}"
            _check(f"{at}.encoder", item.encoder, self.encoders)
            self._check_encoding(at, item.encoding, {"dataset": [item.dataset]})
        for name, family in self.runs.items():
            at = f"runs.{name}"
            starts = [*self.encoders, *(other for other in self.runs if other != name)]
            _check(f"{at}.encoder", family.encoder, starts)
            assert family.encoder is not None  # as _one_family_per_encoder leaves them
            start = self.runs.get(family.encoder)
            if start is not None and start.languages:
                for code in family.languages or ():
                    known = f" in runs.{family.encoder}.languages, where {name!r} starts"
                    _check(f"{at}.languages", code, start.languages, known)
            if isinstance(family, AdjustmentRuns):
                _check(f"{at}.bitext", family.bitext, self._datasets("bitext"), " as a bitext")
                for code in family.languages:
                    self._check_language(f"{at}.languages", code, family.bitext)
                continue
            replayed = [own for own in (family.published, family.corrected) if own and own.replay]
            adjusting = [key for key, item in self.runs.items() if item.kind == "adjustment"]
            if replayed:
                _check(f"{at}.encoder", family.encoder, adjusting, " as adjustment to replay")
            encoded = {"train": [family.train], "evaluate": [*family.evaluate]}
            self._check_encoding(at, family.encoding, encoded)
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
        for bitext, gold in self.alignment.gold.items():
            _check("alignment.gold", bitext, self._datasets("bitext"), " as a bitext")
            golds = self._datasets("gold_alignment")
            _check(f"alignment.gold.{bitext}", gold, golds, " as gold_alignment")
        for rule in self.resources:
            _check(f"resources.{rule}", rule, RULES, " as a rule that takes resources")
        for paper in self.papers:
            _check("papers", paper, PAPERS)
        return self

    @model_validator(mode="after")
    def _cells_have_runs(self) -> Config:
        tuned = [name for name, item in self.runs.items() if isinstance(item, FinetuningRuns)]
        tanti = self.tanti2021
        _check("tanti2021.representation", tanti.representation, self.representations)
        _check("tanti2021.tagging", tanti.tagging, tuned, " as fine-tuning")
        self._check_efimov2022(tuned)
        return self

    def _check_efimov2022(self, tuned: Sequence[str]) -> None:
        paper = self.efimov2022
        _check("efimov2022.model", paper.model, self.encoders)
        _check("efimov2022.bitext", paper.bitext, self._datasets("bitext"), " as a bitext")
        _check("efimov2022.pages", paper.pages, self._datasets("wikipedia"), " as wikipedia")
        for code in paper.languages:
            self._check_language("efimov2022.languages", code, paper.pages)
        panels: dict[str, str] = {}
        for name, figure in paper.figures.items():
            at = f"efimov2022.figures.{name}"
            _check("efimov2022.figures", name, ("figure1", "figure2"), " as a figure")
            for code in figure.languages:
                self._check_language(f"{at}.languages", code, paper.bitext)
            for panel, shown in figure.panels.items():
                _check(f"{at}.panels.{panel}", shown, [*self.encoders, *self.runs])
                if panels.setdefault(panel, shown) != shown or ":" in panel:
                    raise Mistake(
                        f"{at}.panels.{panel}",
                        "a panel has one name and one family in all figures, without a colon",
                        "rename it",
                    )
                base, seen = shown, set[str]()
                while base in self.runs and base not in seen:
                    seen.add(base)
                    base = str(self.runs[base].encoder)
                if base in self.encoders and base != paper.model:  # its pieces mean other words
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
        declared = {rule[1:] for rule in CONTRASTS if rule.paper == "efimov2022"}
        known = [key for key, item in self.datasets.items() if item.corpus in _SCORED]
        named, tested = set[str](), set[str]()
        for key, test in table.tests.items():
            _check(f"{at}.tests.{key}.dataset", test.dataset, known, " with scores")
            for code in test.languages or ():
                self._check_language(f"{at}.tests.{key}.languages", code, test.dataset)
            conditions = table.conditions if test.conditions is None else test.conditions
            place = f"{at}.tests.{key}" if test.conditions else at
            for condition, family in conditions.items():
                where = f"{place}.conditions.{condition}"
                self._check_condition(where, test, family, table, tuned)
            shown = {condition for condition, family in conditions.items() if family}
            named |= shown
            tested.update(self.datasets[test.dataset].languages if shown else ())
            for condition, baseline in table.against.items():
                if condition in shown:
                    _check(f"{at}.against.{condition}", baseline, shown, f" for the test {key}")
            if shown:
                _check(f"{at}.gains_over", table.gains_over, shown, f" for the test {key}")
        for code in table.languages:
            _check(f"{at}.languages", code, tested, " in any of its tests")
        for condition, baseline in table.against.items():
            if condition in named and (name, condition, baseline) not in declared:
                raise Mistake(
                    f"{at}.against.{condition}",
                    f"no contrast of {condition!r} with {baseline!r} is declared for {name}",
                    "declare it in mbert_atlas/scorecard/rules.py",
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
        _check(place, name, tuned, " as fine-tuning")
        found = self.runs[name]
        assert isinstance(found, FinetuningRuns)
        if language and not found.languages:
            raise Mistake(place, f"{name!r} has one run for all languages", f"write {name!r}")
        _check(place, test.dataset, found.evaluate, f" in runs.{name}.evaluate")
        for code in test.languages or table.languages:
            if code in self.datasets[test.dataset].languages:
                own = language or code
                if "efimov2022" in self.papers:
                    self._check_runs_of(place, name, [own])
                predicted = [
                    item.replace("{language}", own) for item in found.evaluate[test.dataset]
                ]
                where = f" in runs.{name}.evaluate.{test.dataset}"
                _check(place, code, predicted, where)

    def _check_runs_of(self, place: str, name: str, languages: Sequence[str]) -> None:
        known = self.runs[name].languages if name in self.runs else None
        for code in languages if known and "efimov2022" in self.papers else ():
            _check(place, code, known or (), f" in runs.{name}.languages")

    def _datasets(self, *corpora: str) -> list[str]:
        return [name for name, item in self.datasets.items() if item.corpus in corpora]

    def _check_encoder(self, name: str) -> None:
        scratch, extended = self.encoders[name].scratch, self.encoders[name].extended
        at = f"encoders.{name}.{'scratch' if scratch else 'extended'}"
        source = scratch or extended
        for text in source.texts if source else []:
            texts = self._datasets("wikipedia", "plain_text")
            _check(f"{at}.texts", text, texts, " as running text")
            for code in extended.languages if extended else []:
                self._check_language(f"{at}.languages", code, text)
        seen = [name]
        while extended:
            place, base = f"encoders.{seen[-1]}.extended.encoder", extended.encoder
            _check(place, base, self.encoders)
            if base in seen:
                circle = " -> ".join([*seen, base])
                raise Mistake(place, f"{circle} is a circle", "extend another encoder")
            seen.append(base)
            extended = self.encoders[base].extended

    def _check_language(self, place: str, code: str, dataset: str) -> None:
        known = self.datasets[dataset].languages
        _check(place, code, known, f" in datasets.{dataset}.languages")

    def _check_encoding(
        self, place: str, encoding: str, datasets: Mapping[str, Sequence[str]]
    ) -> None:
        _check(f"{place}.encoding", encoding, self.encodings)
        task = self.encodings[encoding].task
        known = self._datasets(_CORPUS_OF.get(task, task))
        for key, names in datasets.items():
            for name in names:
                _check(f"{place}.{key}", name, known, f" as data for {task}")


def _like(family: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``own`` with what it lacks taken from another family."""
    merged = {**family, **own}
    if "encoders" in own:
        merged.pop("encoder", None)
    if "encoder" in own:
        merged.pop("encoders", None)
    # What it says under `published` holds for both protocols, unless `corrected` says otherwise.
    said: list[Mapping[str, Any]] = []
    for protocol in PROTOCOLS:
        below, above = family.get(protocol), own.get(protocol, {})
        if isinstance(below, Mapping) and isinstance(above, Mapping):
            said.append(above)
            for saying in said:
                below = laid_over(below, saying)
            merged[protocol] = below
    return merged


def _corrected_over_published(family: Mapping[str, Any]) -> Mapping[str, Any]:
    below, above = (family.get(protocol) for protocol in PROTOCOLS)
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        return {**family, "corrected": laid_over(below, above)}
    return family


def laid_over(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with ``over`` laid on it, mapping by mapping, as Snakemake merges configs."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            merged[key] = laid_over(below, value)
        else:
            merged[key] = value
    return merged


_CORPUS_OF = {"inference": "nli", "tagging": "universal_dependencies"}
_SCORED = ("nli", "named_entities", "question_answering")
PAPERS = ("efimov2022", "tanti2021")
RULES = (
    *("miniature", "extract_wikipedia", "read_bitext", "read_universal_dependencies"),
    *("sample_language_identification", "align", "encode_word_pairs", "train_tokenizer"),
    *("extend_encoder", "encode_pretraining_texts", "encode_examples", "pretrain", "adjust"),
    *("finetune", "extract_representations", "word_pair_distances"),
    *("probe_language_identification", "project_languages"),
)
"""Rules whose jobs ask for what ``resources`` says."""


class Mistake(ValueError):
    """Something that only the whole config shows; pydantic knows no key for it."""

    def __init__(self, place: str, problem: str, mend: str) -> None:
        super().__init__(f"at {place}, {problem}; {mend}")
        self.place, self.problem, self.mend = place, problem, mend


def _check(place: str, name: str | None, known: Iterable[str], role: str = "") -> None:
    """Refuse a name that is not among the ``known`` ones; ``role`` says what they are."""
    known = sorted(known)
    if name is not None and name not in known:
        near = difflib.get_close_matches(name, known, 1)
        few = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
        hint = f"did you mean {near[0]!r}?" if near else f"known: {few or 'none'}"
        raise Mistake(place, f"{name!r} is not defined{role}", hint)

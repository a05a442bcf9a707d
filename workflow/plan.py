"""The one object that rules use: a config's plan, with resources and code fingerprints of jobs."""

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from snakemake.exceptions import WorkflowError
from snakemake.io import directory, temp
from snakemake.logging import logger

from mbert_atlas import papers
from mbert_atlas.analysis import SCORINGS
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.model import Config, Resources
from mbert_atlas.config.reading import BASE, with_lines
from mbert_atlas.encoders import shipping
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.fingerprint import Fingerprints
from mbert_atlas.languages import Languages
from mbert_atlas.plan.explain import in_short
from workflow.files import check_files, requesting
from workflow.parameters import Parameters
from workflow.supervision import growth


def make_plan(workflow: Any, config: dict[str, Any], home: Path) -> "WorkflowPlan":
    """Validate the config and plan it; ``home`` is the folder of the repository.

    In the config, ``downloads``, ``mirror``, ``offline`` and ``contact`` are replaced by their
    validated values, and ``exact_dumps`` is added, as scripts that fetch read them there. A
    WorkflowError names all mistakes of the config and of the files that it names.
    """
    try:
        languages = Languages.read(home / "resources/languages.csv")
        read = _read(workflow, config, home, languages)
        with lines_of_config(workflow, config, home):
            shipped, reasons = _shipped(read, home)
            plan = WorkflowPlan(read, languages, shipped, home)
            plan.why_trained = reasons
            if workflow.is_main_process:  # and not again in every job
                check_files(plan)
    except AtlasError as error:
        raise WorkflowError(str(error)) from None
    if workflow.is_main_process:
        for sentence in read.left_out:
            logger.info(sentence)
    config |= read.model_dump(include={"downloads", "mirror", "offline", "contact"})
    config["exact_dumps"] = sorted(plan.exact_dumps)  # no parameter of a rule, see sources.smk
    if workflow.is_main_process and not (workflow.overwrite_configfiles or read.preset):
        logger.info(
            "No preset is given: this is the scale of the papers, with all their data and days of "
            "GPU time. For a first look: --configfile config/demo.yaml."
        )
    return plan


class WorkflowPlan(Parameters):
    """A plan with what Snakemake needs for its jobs."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.not_run = f"{self.results}/not_run.csv"
        self._requests: dict[str, Callable[[Any], Resources]] = {}
        self.why_trained: dict[str, str] = {}  # of encoders that the repository ships
        self.predicted: list[str] = []  # targets of `predict`, which does not make them
        self._fingerprints = Fingerprints(self.home.resolve(), Path(".snakemake/fingerprints.json"))

    # What jobs request

    def request(self, rule: str) -> Resources:
        """Return what the config says that a job of a rule requests."""
        return self.config.resources.get(rule, Resources())

    def threads(self, rule: str) -> int:
        """Return the threads of a rule's jobs."""
        return self.request(rule).threads

    def resources(self, rule: str) -> dict[str, Any]:
        """Return memory (MB) and time (minutes), more after an attempt that ran short, and GPUs."""
        request = self.request(rule)
        gpus = {"gpu": request.gpu} if request.gpu else {}
        return {**self.growing(lambda wildcards: request), **gpus}

    def growing(self, request: Callable[[Any], Resources]) -> dict[str, Callable[..., int]]:
        """Return memory and time, as :meth:`resources`, of a request that depends on the job."""

        # Snakemake recognises the arguments of these functions by their names.
        def mem_mb(wildcards: Any, attempt: int, rulename: str) -> int:
            self._requests[rulename] = request
            return request(wildcards).mem_mb * growth("memory", rulename, wildcards, attempt)

        def runtime(wildcards: Any, attempt: int, rulename: str) -> int:
            return request(wildcards).runtime * growth("time", rulename, wildcards, attempt)

        return {"mem_mb": mem_mb, "runtime": runtime}

    def request_key(self, job: Any) -> str:
        """Return the key of the config that decides what a job requests."""
        request = self._requests.get(job.rule.name)
        requested = request(job.wildcards) if request else None
        keys = (key for key, item in self.config.resources.items() if item is requested)
        return f"the config, key resources.{next(keys, job.rule.name)}"

    def corpus_request(self, dataset: str) -> Resources:
        """Return what jobs that read or derive a dataset request."""
        return self.request(self.config.datasets[dataset].resources)

    def measuring_request(self, name: str) -> Resources:
        """Return what the job of a large measurement requests."""
        return self.request(self.measurements[name].resources)

    def code(self, script: str, *uses: str) -> str:
        """Return a fingerprint of a rule's code, which is a rerun trigger.

        The script is a module in ``workflow/scripts``; it ``uses`` what it calls by name, as
        ``module:name`` in ``mbert_atlas``.
        """
        roots = (f"workflow.scripts.{script}:", *(f"mbert_atlas.{name}" for name in uses))
        return self._fingerprints.of(*roots)

    def dataset_code(self, dataset: str, script: str) -> str:
        """Return the fingerprint of a script that reads or derives a dataset."""
        return self.code(script, str(self.config.datasets[dataset].function))

    def encoding_code(self, encoding: str) -> str:
        """Return the fingerprint of encoding examples for the task of an encoding."""
        task = self.config.encodings[encoding].task
        return self.code("encode_examples", f"encoding:ENCODINGS[{task}]")

    def aligning_code(self, aligner: str) -> str:
        """Return the fingerprint of an aligner, named as in paths."""
        return self.code("align", f"alignment:ALIGNERS[{self.aligner(aligner)}]")

    def training_code(self, run: str, script: str) -> str:
        """Return the fingerprint of a training with a run's task, methods and loss."""
        return self.code(script, *self.runs[run].code)

    def measuring_code(self, name: str) -> str:
        """Return the fingerprint of a measurement: its function, and its tasks' scoring."""
        tasks = sorted(
            {cell.kind for cell in self.cells_of("measurements", name)} & SCORINGS.keys()
        )
        scorings = f"analysis:SCORINGS[{','.join(tasks)}]"
        return self.code("measure", self.measurements[name].measure, scorings)

    def drawing_code(self, name: str) -> str:
        """Return the fingerprint of a figure."""
        return self.code("render_figure", self.figures[name].draw)

    @staticmethod
    def any_of(names: Iterable[Any]) -> str:
        """Return a regular expression for any of these names; of none it matches nothing."""
        return "|".join(sorted(set(map(str, names)))) or "(?!)"

    # Data and encoders

    def temporary(self, name: str) -> Any:
        """Return a model folder as a temporary output, unless the config keeps models."""
        return directory(name) if self.config.keep_models else temp(directory(name))

    def hubs(self) -> dict[str, dict[str, Any]]:
        """Return the encoders from the hub by the path of their snapshot."""
        items = self.config.encoders.items()
        return {self.snapshot(name): item.hub.model_dump() for name, item in items if item.hub}

    def world_specification(self, world: str) -> dict[str, Any]:
        """Return the part of the miniature's config that decides what one rule writes."""
        miniature = self.config.miniature
        assert miniature is not None
        if world == "miniature":  # the size of one part is no reason to write the others again
            return miniature.model_dump(exclude={"sizes": {"stories"}})
        texts = miniature.model_dump(include={"seed": True, "sizes": {"stories", "foreign_words"}})
        lending = miniature.lending or miniature.languages
        return texts | {"lending": lending, "languages": [world.rpartition("_")[2]]}

    def gold_sources(self, dataset: str, language: str) -> list[dict[str, Any]]:
        """Return how the gold links of a bitext are read, as parameter."""
        if not self.gold(dataset, language):
            return []
        described = self.described(self.config.alignment.gold[dataset], language)
        row = described["languages"][language]
        about = {"language": row, "first_word": described["first_word"]}
        return [source | about for source in described["sources"][language]]

    def align_options(self, aligner: str) -> dict[str, Any]:
        """Return what decides the links that an aligner, named as in paths, finds, as parameter."""
        keys, name = {"symmetrisation", "longest_line", "maximum_words"}, self.aligner(aligner)
        keys |= {"program"} if name == "fast_align" else set()
        return {**self.config.alignment.model_dump(include=keys), "aligner": name}

    def pair_options(self) -> dict[str, int]:
        """Return what decides the pairs that are taken from word links, as parameter."""
        keys = {"held_out", "maximum_words", "maximum_length"}
        return self.config.alignment.model_dump(include=keys)

    def recipe(self, encoder: str) -> dict[str, Any]:
        """Return what decides how an encoder is trained, as parameter."""
        include, exclude = {"scratch", "changed"}, {"scratch": {"shipped"}}
        item = self.config.encoders[encoder]
        return item.model_dump(mode="json", include=include, exclude=exclude)

    def static_gpus(self, static: str) -> int:
        """Return the GPUs for static vectors: gensim, which trains Word2Vec, uses none."""
        is_glove = self.config.static_vectors[static].method == "glove"
        return self.request("train_static_vectors").gpu if is_glove else 0

    def to_ship(self) -> dict[str, str]:
        """Return the encoders that the repository ships, and their folders."""
        return {
            name: item.scratch.shipped
            for name, item in self.config.encoders.items()
            if item.scratch and item.scratch.shipped
        }

    def ship_specifications(self) -> dict[str, dict[str, Any]]:
        """Return what each of these encoders is made from."""
        return {name: shipping.specification(self.config, name) for name in self.to_ship()}

    def ship_code(self) -> dict[str, str]:
        """Return the fingerprints of the code that makes these encoders, by name."""
        jobs = ["train_tokenizer", "start_embeddings", "encode_pretraining_texts", "pretrain"]
        jobs += ["miniature"] if self.config.miniature else []
        names = {name for item in self.ship_specifications().values() for name in item["datasets"]}
        roots = {f"mbert_atlas.{self.config.datasets[name].function}" for name in names}
        roots |= {f"workflow.scripts.{name}:" for name in jobs}
        return {root: self._fingerprints.of(root) for root in sorted(roots)}

    # What a run was, and what it costs

    def provenance(self, workflow: Any, scope: str) -> dict[str, Any]:
        """Return what the provenance of a scope states of the plan, as parameter."""
        return {
            "run": self.config.run,
            "results": self.results,
            "presets": shlex.join(self._presets(workflow)),
            "artifacts": self.traced(scope),
            "encoders": self.encoder_origins(),
            "runs": {run.id: in_short(run) for run in self.runs},
            "families": {run.id: run.family for run in self.runs},
        }

    def stages(self, rules: Iterable[Any]) -> dict[str, dict[str, str]]:
        """Return the stage that each benchmarked rule's cost is attributed to, and its paper."""
        stages = {}
        for rule in (rule for rule in rules if rule.benchmark):
            stem = Path(rule.snakefile).stem
            stage = {"stage": "analysis" if stem in ("artifacts", *self.papers) else stem}
            stages[rule.name] = stage | ({"paper": stem} if stem in self.papers else {})
        return stages

    def charged(self) -> dict[str, str]:
        """Return the paper that a job's cost is attributed to, by a part of its path."""
        papers = {paper: paper for paper in self.papers}
        families = {
            f"{name}.{protocol}": family.paper
            for name, family in self.config.runs.items()
            for protocol in PROTOCOLS
        }
        return papers | families | {run.id: run.paper for run in self.runs}

    def prediction(self, workflow: Any) -> str:
        """Return the command that estimates the targets next to ``predict``, else ``all``.

        It has the presets and settings of this start.
        """
        words = [sys.executable, "-m", "workflow.predict", *(self.predicted or ["all"])]
        words += self._settings(workflow)
        if workflow.local_exec:
            limits = {name: item.value for name, item in workflow.global_resources.items()}
            words += ["--local", "--cores", str(limits["_cores"])]
            words += ["--gpus", str(limits.get("gpu", 0))]
        else:
            words += ["--jobs", str(workflow.nodes)]
        return shlex.join(words)

    def command(self, workflow: Any) -> str:
        """Return the command that makes targets with the presets and settings of this start.

        It ends before the targets.
        """
        profile = ["local", "--cores", "all"] if workflow.local_exec else ["slurm"]
        words = ["snakemake", "--profile", *profile, *self._settings(workflow), "--"]
        return shlex.join(words)

    @staticmethod
    def _presets(workflow: Any) -> list[str]:
        """Return the presets of this start as words of a command."""
        files = [*map(os.path.relpath, workflow.overwrite_configfiles)]
        return ["--configfile", *files] if files else []

    def _settings(self, workflow: Any) -> list[str]:
        """Return presets and settings of this start as words of a command."""
        settings = workflow.config_settings.config.items()
        pairs = [f"{key}={json.dumps(value)}" for key, value in settings]
        return self._presets(workflow) + (["--config", *pairs] if pairs else [])


@contextmanager
def lines_of_config(workflow: Any, config: Mapping[str, Any], home: Path) -> Iterator[None]:
    """Give a DataError about a key of the merged config the file and the line of that key."""
    try:
        yield
    except DataError as error:
        files = _files_of_config(workflow, config, home)
        raise with_lines(error, files, workflow.config_settings.config) from None


def _files_of_config(workflow: Any, config: Mapping[str, Any], home: Path) -> list[Path | str]:
    """Return the files that a config was merged from, the last one wins."""
    # Snakemake lists the presets of the command line first, although they override the others.
    presets = len(workflow.overwrite_configfiles)
    is_module = workflow.modifier.skip_configfile
    below = [home / BASE, *papers.config_files(config, home)] if is_module else []
    return [*below, *workflow.configfiles[presets:], *workflow.configfiles[:presets]]


def _read(workflow: Any, config: Mapping[str, Any], home: Path, languages: Languages) -> Config:
    return papers.read_config(
        config,
        _files_of_config(workflow, config, home),
        languages=[item.code for item in languages],
        rules=requesting(home),
        typed=workflow.config_settings.config,
    )


def _shipped(config: Config, home: Path) -> tuple[dict[str, Mapping[str, str]], dict[str, str]]:
    """Return the sha256 of the files of each encoder that is taken from the repository.

    Also return why each of the others is trained.
    """
    shipped: dict[str, Mapping[str, str]] = {}
    reasons: dict[str, str] = {}
    for name, encoder in config.encoders.items():
        if config.use_shipped and encoder.scratch and encoder.scratch.shipped:
            folder = home / encoder.scratch.shipped
            if reason := shipping.why_train(folder, shipping.specification(config, name)):
                reasons[name] = reason
            else:
                shipped[name] = shipping.require_whole(folder)
    return shipped, reasons

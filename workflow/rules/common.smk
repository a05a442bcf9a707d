# What the rules share. It holds the validated config, the tables of runs and languages, and all paths.

import csv
import json
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from mbert_atlas import papers
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.reading import BASE
from mbert_atlas.config.resources import Resources as Request  # Snakemake has Resources of its own
from mbert_atlas.encoders import shipping
from mbert_atlas.encoders.folders import check_folder
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import sha256_of
from mbert_atlas.fingerprint import fingerprint
from mbert_atlas.labels import listed
from mbert_atlas.languages import Languages
from mbert_atlas.planning import datasets
from mbert_atlas.planning.runs import RunTable
from mbert_atlas.scorecard.claims import read_claims
from mbert_atlas.scorecard.reasons import write_reasons
from mbert_atlas.sources import Register, require_available, snapshot_path
from workflow.supervision import growth

RULE_FILES = (HOME / "workflow/rules").glob("*.smk")
ASKS = re.compile(r'request\("(\w+)"\)')
"""How a rule takes resources from the config; papers that are not read have such rules, too."""


FILES_BELOW = (
    [HOME / BASE, *papers.config_files(config, HOME)] if workflow.modifier.skip_configfile else []
)
"""What a module's own config is laid over; else Snakemake lists these files itself."""


def shipped_encoders():
    """The sha256 of the files of each encoder that is taken from the repository, not trained."""
    found = {}
    for name, encoder in CONFIG.encoders.items():
        if CONFIG.use_shipped and encoder.scratch and encoder.scratch.shipped:
            folder = HOME / encoder.scratch.shipped
            reason = shipping.why_train(folder, shipping.specification(CONFIG, name))
            if not reason:
                found[name] = shipping.require_whole(folder)
            elif workflow.is_main_process:
                logger.info(f"encoders.{name} is trained: {reason}.")
    return found


def claims_file(paper):
    """What a paper claims in words."""
    return at_home(f"mbert_atlas/papers/{paper}/claims.yaml")


def reported_file(paper):
    """The numbers that a paper reports."""
    return at_home(f"resources/reported/{paper}.csv")


def at_home(path):
    """The path of a file of the repository, for parameters."""
    return str(HOME / path)


try:
    LANGUAGES = Languages.read(HOME / "resources/languages.csv")
    # Snakemake lists the presets of the command line first, although they are laid over the others.
    presets = len(workflow.overwrite_configfiles)
    CONFIG = papers.read_config(
        config,
        [*FILES_BELOW, *workflow.configfiles[presets:], *workflow.configfiles[:presets]],
        languages=[item.code for item in LANGUAGES],
        rules={name for path in RULE_FILES for name in ASKS.findall(path.read_text())},
        typed=workflow.config_settings.config,
    )
    RUNS = RunTable(CONFIG)
    UPSTREAM = datasets.upstream_files(CONFIG, LANGUAGES)
    if workflow.is_main_process:  # and not again in every job
        for name in CONFIG.papers:
            read_claims(
                Path(claims_file(name)),
                name,
                Path(reported_file(name)),
                languages=[item.code for item in LANGUAGES],
            )
        for encoder in CONFIG.encoders.values():
            if encoder.folder:
                check_folder(Path(encoder.folder))
        if CONFIG.mirror and not Path(CONFIG.mirror).is_dir():
            raise DataError(
                "config", "key mirror", f"there is no folder {CONFIG.mirror}", "correct the path"
            )
    SHIPPED = shipped_encoders()
except AtlasError as error:
    raise WorkflowError(str(error)) from None

# Scripts that fetch read these as they were checked, not as they were typed.
config |= CONFIG.model_dump(include={"downloads", "mirror", "offline"})
if workflow.is_main_process and not (workflow.overwrite_configfiles or CONFIG.preset):
    logger.info(
        "No preset is given: this is the papers' own scale, with all their data and days of GPU time. "
        "For a first look: --configfile config/demo.yaml."
    )

RESULTS = f"results/{CONFIG.run}"
NOT_RUN = f"{RESULTS}/not_run.csv"
"""What the last run that failed has not made, and why."""
SCRIPTS = HOME.resolve() / "workflow/scripts"


def request(rule_name):
    """What a job of a rule asks for."""
    return CONFIG.resources.get(rule_name, Request())


def memory(rule_name):
    """Memory in MB, more after an attempt that may have been short of it."""
    return lambda wildcards, attempt, rulename: (
        request(rule_name).mem_mb * growth("memory", rulename, wildcards, attempt)
    )


def minutes(rule_name):
    """Time limit in minutes, more after an attempt that ran into it."""
    return lambda wildcards, attempt, rulename: (
        request(rule_name).runtime * growth("time", rulename, wildcards, attempt)
    )


def code(script):
    """Fingerprint of a script and of the package modules it reaches; a parameter, so a trigger."""
    return fingerprint(SCRIPTS / f"{script}.py")


def datasets_of(corpus):
    """Regular expression for the names of the datasets of a kind that are made from upstream files."""
    return any_of(
        name for name, item in CONFIG.datasets.items() if item.corpus == corpus and not item.parent
    )


def derived_datasets(corpus):
    """Regular expression for the names of the datasets of a kind that are made from others."""
    return any_of(
        name for name, item in CONFIG.datasets.items() if item.corpus == corpus and item.parent
    )


def any_of(names):
    """Regular expression for any of these names; matches nothing if there are none."""
    return "|".join(names) or "(?!)"


def upstream(path):
    """Where an upstream file lies: written by the miniature, or fetched."""
    return f"<results>/{little_world(path)}/{path}" if CONFIG.miniature else f"<downloads>/{path}"


def little_world(path):
    """The rule that writes an upstream file; texts to pretrain on are many, so each has its own."""
    if path.startswith("cc100/"):
        return f"miniature_texts_{Path(path).name.partition('.')[0]}"
    return "miniature"


def sources(dataset, language):
    """The upstream files of one language of a dataset, as the config's `Source` records."""
    return datasets.sources(dataset, CONFIG.datasets[dataset], language, LANGUAGES)


def source_files(dataset, language):
    """The paths of :func:`sources`, partners included."""
    return [
        upstream(path)
        for item in sources(dataset, language)
        for path in [item.path, *item.partners]
    ]


def all_source_files(dataset):
    """The upstream files of every language of a dataset, each once."""
    found = [
        path
        for language in CONFIG.datasets[dataset].languages
        for path in source_files(dataset, language)
    ]
    return list(dict.fromkeys(found))


def described(dataset, languages=None):
    """A dataset's config with its sources spelled out: the parameter of the rules that read it."""
    item = CONFIG.datasets[dataset]
    return {
        **item.model_dump(mode="json", exclude={"files", "files_by_language", "languages"}),
        "sources": {
            language: [
                source.model_dump(mode="json")
                | {
                    "path": upstream_path(source.path),
                    "partners": [upstream_path(partner) for partner in source.partners],
                }
                for source in sources(dataset, language)
            ]
            for language in languages or item.languages
        },
    }


def upstream_path(path):
    """:func:`upstream` with the folders filled in, for parameters."""
    return upstream(path).replace("<results>", RESULTS).replace("<downloads>", CONFIG.downloads)


def encoder_folder(name):
    """Where an encoder of the config lies."""
    encoder = CONFIG.encoders[name]
    if name in SHIPPED:
        return f"<results>/encoders/{name}/shipped"
    if encoder.scratch or encoder.changed:
        return f"<results>/encoders/{name}/model"
    if encoder.folder:
        return encoder.folder
    return f"<downloads>/{encoder_path(name)}"


def encoder_path(name):
    """Path of a hub encoder's snapshot in the layout of mirrors and downloads."""
    hub = CONFIG.encoders[name].hub
    return snapshot_path(hub.repository, hub.revision)


def tokenizer_folder(name):
    """Where its tokenizer lies; a pretrained encoder's is there before the encoder is."""
    if (scratch := CONFIG.encoders[name].scratch) and name not in SHIPPED:
        if scratch.tokenizer_of:
            return tokenizer_folder(scratch.tokenizer_of)
        return f"<results>/encoders/{name}/tokenizer"
    if CONFIG.encoders[name].changed:
        return f"<results>/encoders/{name}/extended"
    return encoder_folder(name)


def tokenised_by(name):
    """The encoder under whose name texts are tokenised: its own, or that whose tokenizer it has."""
    scratch = CONFIG.encoders[name].scratch
    return (scratch.tokenizer_of if scratch else None) or name


DRAWS = {run for search in RUNS.searches() for run in RUNS.draws(search)}
"""The runs of all searches: they leave predictions only."""
STATIC = {name: item.encoder for name, item in CONFIG.static_vectors.items()}
"""Static vectors of word pieces: the encoder whose tokenizer and texts they share."""


def model_folder(run, seed):
    """The model that a run leaves."""
    return f"<results>/runs/{run.id}/seed{seed}/model"


def weights(path):
    """The model that a run leaves, as an output: it goes when its last reader has run.

    See :func:`keep_weights_of_single_targets`.
    """
    return directory(path) if CONFIG.keep_models else temp(directory(path))


def keep_weights_of_single_targets():
    """Let models stay unless `all` is made: another target may read what this one does not."""
    targets = workflow.dag_settings.targets
    if targets and "all" not in targets:
        for job in workflow.dag.jobs:
            if job.rule.name in ("adjust", "finetune"):
                for path in job.output:
                    path.flags.pop("temp", None)


def start_folder(run, seed):
    """The model that a run starts from."""
    # A run that starts from this one may have other seeds, as draws of a search have.
    seeds = {number for item in RUNS if run.id in (item.id, item.start) for number in item.seeds}
    if int(seed) not in seeds:
        known = ", ".join(map(str, sorted(seeds)))
        raise WorkflowError(f"The run {run.id} has no seed {seed}; its seeds are {known}.")
    if run.start:
        return model_folder(RUNS[run.start], seed)
    return encoder_folder(run.base)


def pairs_folder(run):
    """The word pairs that an adjustment pulls together, as token ids."""
    return f"<results>/tokens/{run.base}/pairs/{run.specification['bitext']}/{run.language}/train"


def table(dataset, language=None):
    """The Parquet file of a dataset (of one language, where it is made language by language)."""
    if CONFIG.datasets[dataset].corpus in ("wikipedia", "plain_text", "bitext", "dictionary"):
        return f"<results>/data/{dataset}/{language}.parquet"
    return f"<results>/data/{dataset}.parquet"


def encoding_name(run):
    """Name of the encoding of a fine-tuning run."""
    return CONFIG.runs[run.family].encoding


def gold_dataset(dataset, language):
    """The gold links that go with a bitext, if that language has some."""
    name = CONFIG.alignment.gold.get(dataset)
    return name if name and language in CONFIG.datasets[name].languages else None


def gold_files(wildcards):
    name = gold_dataset(wildcards.dataset, wildcards.language)
    return source_files(name, wildcards.language) if name else []


def gold_sources(wildcards):
    name = gold_dataset(wildcards.dataset, wildcards.language)
    return described(name, [wildcards.language])["sources"][wildcards.language] if name else []


def pretraining_texts(wildcards):
    """The running texts of an encoder that is pretrained: all languages, or those of a change."""
    encoder = CONFIG.encoders[wildcards.encoder]
    if changed := encoder.changed:
        return [table(name, language) for name in changed.texts for language in changed.languages]
    scratch = encoder.scratch
    return [
        table(name, language)
        for name in scratch.texts
        for language in CONFIG.datasets[name].languages
        if language in (scratch.languages or [language])
    ]


def aligned_start(name):
    """Where the translations come from that an encoder's word embeddings begin with, if they do."""
    scratch = CONFIG.encoders[name].scratch
    return scratch.aligned_start if scratch else None


def pretraining(name):
    """The hyperparameters of its pretraining, which starts from scratch or from a changed encoder."""
    encoder = CONFIG.encoders[name]
    return encoder.changed.training if encoder.changed else encoder.scratch.pretraining


def example_folder(run, dataset):
    return f"<results>/tokens/{tokenised_by(run.base)}/examples/{encoding_name(run)}/{dataset}"


def encoded(encoder, item):
    """The token store of an `EncodedDataset` under an encoder's tokenizer."""
    item = item if isinstance(item, dict) else item.model_dump()
    return f"<results>/tokens/{tokenised_by(encoder)}/examples/{item['encoding']}/{item['dataset']}"


def static_examples(wildcards):
    """The examples that a family of fine-tunings learns from and predicts, as static vectors see them."""
    family, encoder = CONFIG.runs[wildcards.family], STATIC[wildcards.static]
    return [
        encoded(encoder, {"dataset": dataset, "encoding": family.encoding})
        for dataset in [family.train, *family.evaluate]
    ]


def dictionary_tables(wildcards):
    """The dictionaries that words of a language are taken from: all of them for English."""
    languages = (
        CONFIG.datasets[wildcards.dictionary].languages
        if wildcards.language == "en"
        else [wildcards.language]
    )
    return [table(wildcards.dictionary, language) for language in languages]


def dictionary_side(wildcards):
    """Parameter: the column of a dictionary that has the words of a language."""
    return "source" if wildcards.language == "en" else "target"


def unit_of(family):
    """What a family of fine-tuning runs predicts: texts, tokens, or trees."""
    task = CONFIG.encodings[CONFIG.runs[family].encoding].task
    units = {"tagging": "token", "named_entities": "token", "dependency_parsing": "tree"}
    return units.get(task, "text")


def method_inputs(run):
    """The files that the methods of a fine-tuning run need, by name."""
    found = {}
    if "replay" in run.specification:  # what the adjustment before it was made from
        found["replay_pairs"] = pairs_folder(RUNS[run.start])
        found["replay_encoder"] = encoder_folder(run.base)
    selection = run.specification["hyperparameters"]["selection"] or {}
    if development := selection.get("development"):
        found["development"] = example_folder(run, development)
    if data := run.specification.get("language_data"):
        if run.specification["hyperparameters"]["confusion"]:
            found["confusion_texts"] = encoded(run.base, data)
        else:
            found["language_directions"] = directions_folder(run.base, data["dataset"])
    return found


def directions_folder(encoder, dataset, languages="all"):
    """The directions that tell languages apart: all of a dataset, or one of `LANGUAGE_SETS`."""
    return f"<results>/directions/{encoder}/{dataset}/{languages}"


def vectors_folders(encoder, dataset, languages=None):
    """The token vectors of a dataset, or of those of its groups that have one of the languages."""
    return [
        f"<results>/vectors/{encoder}/{dataset}/{number}"
        for number, group in enumerate(language_parts(dataset))
        if languages is None or set(group) & set(languages)
    ]


def language_parts(dataset):
    """The languages of a dataset of running texts in groups, each of which one job encodes."""
    languages, size = CONFIG.datasets[dataset].languages, VECTORS[dataset]["languages_per_job"]
    return [languages[start : start + size] for start in range(0, len(languages), size)]


def choose_by(search, protocol):
    """The metric and the languages that tell the best draw of a search."""
    run = RUNS[next(iter(RUNS.draws(search)))]
    found = CONFIG.runs[run.family].search.choose_by.model_dump()[protocol]
    languages = found["languages"] or []
    filled = [code.replace("{language}", run.language or "") for code in languages]
    return {"unit": unit_of(run.family), **found, "languages": filled or None}


def choice_of(run):
    """What the search has chosen for a run, where it is to be taken."""
    searched = run.specification.get("search")
    return f"<results>/search/{searched}.json" if searched else []


def features_folder(wildcards):
    """The features under a run's model."""
    return f"<results>/features/{wildcards.features}/{model_of_features(wildcards)}"


def points_folder(wildcards):
    """The sample that is kept of them."""
    return f"<results>/points/{wildcards.features}/{model_of_features(wildcards)}"


def model_of_features(wildcards):
    """The run and the seed; a frozen encoder's features are the same for all of them."""
    run = RUNS[wildcards.run]
    is_frozen = run.specification["hyperparameters"]["trained_layers"] == "none"
    return run.base if is_frozen else f"{run.id}/seed{wildcards.seed}"


def distance_models(wildcards):
    """Model folders of one seed by panel and protocol; protocols that share a model name both."""
    found = {}
    for panel, name in DISTANCES[wildcards.distances]["panels"][wildcards.language].items():
        by_folder = {}
        for protocol in PROTOCOLS:
            if name in CONFIG.encoders:
                by_folder.setdefault(encoder_folder(name), []).append(protocol)
                continue
            run = RUNS.get(name, wildcards.language, protocol)
            if int(wildcards.seed) in run.seeds:
                by_folder.setdefault(model_folder(run, wildcards.seed), []).append(protocol)
        found |= {f"{panel}:{'+'.join(names)}": folder for folder, names in by_folder.items()}
    return found


def sampling(*options):
    """Parameter: some of the options of a sample of vectors."""
    return lambda wildcards: {name: SAMPLES[wildcards.features][name] for name in options}


def transfer_cells(name):
    """Every prediction file behind a table of transfer, with the cell that it belongs to."""
    table = TRANSFER[name]
    return [
        {
            "task": task,
            "kind": run.specification["encoding"]["task"],
            "dataset": test.dataset,
            "source": source,
            "language": language,
            "condition": condition,
            "protocol": protocol,
            "seed": seed,
            "path": f"<results>/runs/{run.id}/seed{seed}/predictions.parquet",
            "questions": getattr(dataset, "questions", "same"),
            "normalisation": test.normalisation,
        }
        for task, test in table.tests.items()
        for dataset in [CONFIG.datasets[test.dataset]]
        for source, condition, shown in table.families(test)
        for family, _, own in [shown.partition("/")]
        for language in test.languages or table.languages
        if language in dataset.languages
        for protocol in PROTOCOLS
        for run in [RUNS.get(family, own or language, protocol)]
        for seed in run.seeds
    ]


def paper_of(wildcards):
    """The paper of a table."""
    return wildcards.table.partition("/")[0]


def reported(wildcards):
    """The numbers that the paper of a table reports."""
    return reported_file(paper_of(wildcards))


def headline(artifact):
    """An artifact as the paper calls it, for the report: Table 1 for table1_udpos, Appendix A."""
    kind, number = re.match(r"(?:.*/)?([a-z]+)([A-Z]|\d+)", artifact).groups()
    return f"{kind.capitalize()} {number}"


def claims(paper):
    """The module with a paper's title and contrasts."""
    return import_module(f"mbert_atlas.papers.{paper}.claims")


def figure_title(paper, artifact, **words):
    """The title of a figure, with words of the config where it has places for them."""
    return claims(paper).FIGURES[artifact].format(**words)


def language_names(codes):
    """Languages by their English names: a, b and c."""
    return listed([LANGUAGES[code].name for code in codes])


def condition_order(paper):
    """The conditions of a paper as it reports them, then those of its figures alone.

    It decides what a condition looks like in a figure, whatever else is drawn.
    """
    with open(reported_file(paper)) as stream:
        stated = [row["condition"] for row in csv.DictReader(stream)]
    return list(dict.fromkeys([*filter(None, stated), *ORDER.get(paper, [])]))


def artifacts(paper):
    """The files that a paper's target makes."""
    return [path for paths in ARTIFACTS[paper].values() for path in paths]


def in_scope(scope):
    """What pages show in a folder of the run: all; in `highlights/` what is to be seen first.

    In `available/` what is there. By paper `artifacts` and the `measurements` behind them.
    """
    if scope == "highlights/":
        return HIGHLIGHTS
    every = {
        paper: {"artifacts": list(ARTIFACTS[paper]), "measurements": MEASUREMENTS[paper]}
        for paper in ARTIFACTS
    }
    if not scope:
        return every
    there = {
        paper: {
            "artifacts": [
                name for name, paths in ARTIFACTS[paper].items() if all(map(made, paths))
            ],
            "measurements": list(filter(made, item["measurements"])),
        }
        for paper, item in every.items()
    }
    return {paper: item for paper, item in there.items() if item["measurements"]}


def made(path):
    """The absolute path of a result that is there, or nothing."""
    found = Path(path.replace("<results>", RESULTS)).absolute()
    return str(found) if found.exists() else ""


def as_input(scope, path):
    """What is there is taken as it is: no rule makes an absolute path."""
    return made(path) if scope == "available/" else path


def shown_measurements(scope, *papers):
    """The measurements behind what a scope shows, of all papers or of some."""
    return [
        as_input(scope, path)
        for paper, item in in_scope(scope).items()
        if not papers or paper in papers
        for path in item["measurements"]
    ]


def shown_files(scope, *papers):
    """The files of the artifacts that a scope shows, with paper and artifact."""
    return [
        {"paper": paper, "artifact": artifact, "path": path}
        for paper, item in in_scope(scope).items()
        if not papers or paper in papers
        for artifact in item["artifacts"]
        for path in ARTIFACTS[paper][artifact]
    ]


def shown_paths(scope, *papers):
    """The paths of these files."""
    return [as_input(scope, item["path"]) for item in shown_files(scope, *papers)]


def shown_figures(scope, *papers):
    """The drawings among these files, with the folder of the run filled in."""
    return [
        item | {"path": item["path"].replace("<results>", RESULTS)}
        for item in shown_files(scope, *papers)
        if item["path"].endswith(".svg")
    ]


def require_sources():
    """Say at once what the jobs to come need and cannot get, not file by file as they fail."""
    wanted = sorted(
        str(Path(path).relative_to(CONFIG.downloads))
        for job in workflow.dag.needrun_jobs()
        if job.rule.name in ("fetch_file", "fetch_encoder")
        for path in job.output
    )
    try:
        require_available(
            wanted,
            register=Register.read(HOME / "resources/sources.yaml"),
            mirror=CONFIG.mirror,
            downloads=CONFIG.downloads,
            offline=CONFIG.offline,
        )
    except AtlasError as error:
        if not CONFIG.without_missing:
            raise WorkflowError(str(error)) from None
        logger.warning(f"{error} Going on without what needs them.")


def tell_what_was_not_made():
    """Name what failed and the artifacts that it kept from being made, there and in a file."""
    lost = {}  # by job: the jobs that failed before it
    for failed in workflow.scheduler.failed:
        behind = [failed]
        for job in behind:
            if failed not in lost.setdefault(job, []):
                lost[job].append(failed)
                behind += [one for one in workflow.dag.depending[job] if one.rule.name != "all"]
    without = {str(path): failures for job, failures in lost.items() for path in job.output}
    rows = {
        (paper, artifact, reason_of(job))
        for paper, artifacts in ARTIFACTS.items()
        for artifact, paths in artifacts.items()
        for path in paths
        for job in without.get(path.replace("<results>", RESULTS), [])
    }
    for reason in sorted({reason for *_, reason in rows}):
        names = sorted(f"{paper} {artifact}" for paper, artifact, why in rows if why == reason)
        logger.error(f"Not made: {', '.join(names)}. {reason}")
    if rows:
        write_reasons(sorted(rows), NOT_RUN)
        logger.error(f"{NOT_RUN} lists this; the target `available` makes pages of what is there.")


def reason_of(job):
    """The sentence with which a job failed, from its log."""
    log = Path(str(job.log[0])) if job.log else None
    lines = log.read_text(errors="replace").splitlines() if log and log.exists() else []
    said = [line.partition(" ERROR ")[2] for line in lines if " ERROR " in line]
    # The name of the logger comes first.
    return said[-1].partition(": ")[2] if said else f"{job.rule.name} failed, see {log}"


def stages():
    """The stage of each rule that is measured, and the paper that pays if no path says."""
    return {
        item.name: (
            {"stage": "analysis", "paper": Path(item.snakefile).stem}
            if Path(item.snakefile).stem in ARTIFACTS
            else {"stage": Path(item.snakefile).stem}
        )
        for item in workflow.rules
        if item.benchmark
    }


def payers():
    """The paper that pays for a job by a part of its path."""
    return {
        **{paper: paper for paper in ARTIFACTS},
        **{
            f"{name}.{protocol}": family.paper
            for name, family in CONFIG.runs.items()
            for protocol in PROTOCOLS
        },
        **{run.id: run.paper for run in RUNS},
    }


def prediction():
    """The command that predicts `all` for the presets and the settings of this command line."""
    words = [sys.executable, at_home("workflow/predict.py"), "all"]
    for path in workflow.overwrite_configfiles:
        words += ["--configfile", str(path)]
    for key, value in workflow.config_settings.config.items():
        words += ["--config", f"{key}={json.dumps(value)}"]
    if workflow.local_exec:
        there = {name: item.value for name, item in workflow.global_resources.items()}
        words += ["--local", "--cores", str(there["_cores"]), "--gpus", str(there.get("gpu", 0))]
    else:
        words += ["--jobs", str(workflow.nodes)]
    return shlex.join(words)


def content(path):
    """Hash of a file of the repository.

    As a parameter it triggers by content; as an input, a fresh clone's file times would.
    """
    return sha256_of(path)


# What every paper's .smk registers with the shared rules. Keys are `paper/name`, but for the first two.
ARTIFACTS = {}  # by paper: target files by artifact
MEASUREMENTS = {}  # by paper: measurements for the scorecard
HIGHLIGHTS = {}  # by paper: the `artifacts` to be seen first, with their `measurements`
TABLES = (
    {}
)  # tables of numbers: their `measurements`, and `facts`, rows of texts before the numbers, or a file with them
TRANSFER = {}  # tables of scores by condition and language: a `TransferTable` of the config
PLOTS = {}  # measurements that are drawn by language and condition: the figure's title
ORDER = {}  # by paper: conditions of its figures that no number is reported of, for their colours
CONDITION_NAMES = {}  # of tables: what conditions are called where the config decides it
FEATURES = {}  # vectors: `stores` by name with `folder`, `splits`, `languages`; `pooling`, `layers`
PROBES = {}  # of some of these FEATURES: language identification as `corrected`
SAMPLES = {}  # of some of these FEATURES: how clusters and maps are made
SIMILARITIES = {}  # of some of these FEATURES: `pivots`, source languages; `stores`, by protocol
VECTORS = {}  # of running texts: `encoding`, `summed`, `probed` (tokens), `languages_per_job`
MEANS = {}  # of running texts: `encoding`, `texts`, how many of each language
LANGUAGE_SETS = {}  # of these texts: languages whose directions are wanted, by name
RETRIEVAL = {}  # dictionaries: the dataset of `texts`, and options of `find_word_contexts`
STATIC_RUNS = {}  # families of fine-tunings that static vectors learn as well: the network
DISTANCES = {}  # distances between words: `encoder`, `bitext`, `pairs`, `panels` by language


wildcard_constraints:
    seed=any_of(sorted({str(seed) for run in RUNS for seed in run.seeds})),
    language=r"[a-z_-]+",
    protocol="published|corrected",
    encoder=any_of(CONFIG.encoders),
    encoding=any_of(CONFIG.encodings),
    part="train|heldout",
    group=r"\d+",

"""mbert-atlas: five papers on how multilingual BERT stores language, reproduced.

snakemake --profile local --cores 2 --configfile config/demo.yaml -- highlights  # a first look
snakemake --profile slurm all                                                    # paper scale
snakemake --profile slurm predict                                                # what that costs
snakemake --profile slurm PAPER_figure1                                          # one figure
"""

import atexit
import gc
import os
from pathlib import Path

from snakemake.utils import min_version

# Modules and a plan are millions of objects that all stay: looking for garbage among them took a
# fifth of the time of a dry run at paper scale, some of it at the end of the process.
gc.set_threshold(100_000, 50, 100)
atexit.register(gc.freeze)

from mbert_atlas import papers
from workflow import forking, outcome
from workflow.console import show_progress
from workflow.plan import make_plan
from workflow.reasons import name_changes
from workflow.repeated import work_out_once
from workflow.slurm import install
from workflow.start import check_start, check_targets
from workflow.supervision import pass_signals, supervise
from workflow.wildcards import ByWildcards

min_version("9.14")


# This folder as seen from where Snakemake runs, which is another one in a module of another workflow.
HOME = Path(workflow.current_basedir.get_path_or_uri(secret_free=False)).resolve()
HOME = Path(os.path.relpath(HOME))

check_start(workflow, config, HOME)


configfile: HOME / "config/config.yaml"


for file in papers.config_files(config, HOME):

    configfile: file


report: "workflow/report/workflow.rst"


# A module with a separate config skips the files above; here it overrides them.
if workflow.modifier.skip_configfile:
    config = papers.completed(config, HOME)

plan = make_plan(workflow, config, HOME)
job = ByWildcards(plan)  # inputs and parameters that wildcards decide

if workflow.is_main_process:
    install()  # the SLURM executor that survives what clusters do
    forking.install(HOME / "workflow/scripts")  # the local one whose scripts start by a fork
else:
    pass_signals(workflow)  # a job of SLURM, in which Snakemake calls no `onstart`


pathvars:
    results=plan.results,
    downloads=plan.config.downloads,


wildcard_constraints:
    seed=plan.any_of(plan.seeds),
    language=r"[a-z_-]+",
    aligner=r"|\.[a-z_]+",
    protocol="published|corrected",
    encoder=plan.any_of(plan.config.encoders),
    encoding=plan.any_of(plan.config.encodings),
    static=plan.any_of(plan.static),
    features=plan.any_of(plan.features),
    model=r"[^/]+(/seed\d+)?",
    head=rf"({plan.any_of(plan.config.encoders)})(/seed\d+)?",
    distances=plan.any_of(plan.distances),
    dictionary=plan.any_of(plan.retrieval),
    vectors=plan.any_of([*plan.config.encoders, *plan.static]),
    search=plan.any_of(plan.runs.searches),
    paper=plan.any_of(plan.papers),
    source="[a-z_]+",
    target="[a-z_]+",
    training="pretraining|head",
    part="train|heldout",
    group=r"\d+",
    scope="|highlights/|available/",


for paper in plan.papers:
    if (HOME / f"workflow/rules/{paper}.smk").is_file():

        include: f"workflow/rules/{paper}.smk"


include: "workflow/rules/sources.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/alignment.smk"
include: "workflow/rules/encoders.smk"
include: "workflow/rules/static_vectors.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/representations.smk"
include: "workflow/rules/retrieval.smk"
include: "workflow/rules/analysis.smk"
include: "workflow/rules/artifacts.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/provenance.smk"


rule all:
    default_target: True
    input:
        plan.made(""),
        "<results>/scorecard.html",
        "<results>/index.html",
        "<results>/ro-crate-metadata.json",


rule highlights:
    input:
        plan.made("highlights/"),
        "<results>/highlights/index.html",


rule available:
    """Pages of the results that exist, after a run that could not be finished; runs nothing else."""
    input:
        "<results>/available/index.html",


rule predict:
    """Print and write hours, disk and wall time of the jobs of `all` that are still to be done."""
    log:
        "<results>/logs/predict.log",
    localrule: True
    conda:
        "envs/mbert-atlas.yaml"
    params:
        home=HOME.resolve(),
        command=lambda wildcards: plan.prediction(workflow),
    shell:
        "PYTHONPATH={params.home:q} {params.command} 2>&1 | tee {log}"


for item in workflow.rules:  # all scripts have one environment, for users of conda
    if item.script and Path(item.snakefile).is_relative_to(HOME.resolve()):
        item.conda_env = str(HOME.resolve() / "envs/mbert-atlas.yaml")


onstart:
    supervise(workflow, logger, plan.results)
    outcome.keep_weights_of_single_targets(workflow)
    outcome.require_sources(workflow, plan, logger)
    outcome.name_trained(workflow, plan, logger)
    show_progress(workflow, plan, log)


onsuccess:
    outcome.report_success(workflow, plan)


onerror:
    outcome.report_failures(workflow, plan, logger)


if workflow.is_main_process:
    work_out_once(workflow)
    name_changes()
    outcome.list_downloads_of_dry_runs(plan, logger)

check_targets(workflow, plan)

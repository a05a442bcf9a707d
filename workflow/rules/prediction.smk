# Needs: nothing. Makes: what the rest of `all` will cost, from the plan alone.

import json
import shlex
import sys


def prediction():
    """The command that predicts `all` for the presets and the settings of this command line."""
    words = [sys.executable, str(Path(workflow.basedir) / "workflow/predict.py"), "all"]
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


localrules:
    predict,


rule predict:
    """Print and write hours, disk and wall time of the jobs of `all` that are still to be done."""
    log:
        "<results>/logs/predict.log",
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        command=lambda wildcards: prediction(),
    shell:
        "PYTHONPATH={workflow.basedir} {params.command} 2>&1 | tee {log}"

# Needs: the network, a mirror folder, or nothing (synthetic data). Makes: the upstream files as they are.


if plan.config.miniature:
    for world in sorted({plan.world(name) for name in plan.upstream_files}):

        rule:
            name:
                world
            # Write synthetic data in every upstream format.
            output:
                plan.written_by(world),
                manifest=f"<results>/{world}/MANIFEST.tsv",
            log:
                f"<results>/logs/{world}/all.log",
            benchmark:
                f"<results>/benchmarks/{world}/all.tsv"
            threads: plan.threads("miniature")
            resources:
                **plan.resources("miniature"),
            params:
                specification=plan.world_specification(world),
                only=sorted({path.split("/")[2] for path in plan.written_by(world)}),
                code=plan.code("miniature"),
            script:
                "../scripts/miniature.py"


# Where a file comes from is no parameter of these rules, as its checksum identifies its content: with
# another mirror, or offline, nothing is fetched again. Nor is whether another date may replace that of a
# dump, since Snakemake would delete the file before the rule could look.


rule fetch_file:
    """Take one upstream file from the mirror or download it, and check its sha256."""
    output:
        "<downloads>/{path}",
    log:
        "<results>/logs/fetch/{path}.log",
    wildcard_constraints:
        path=r"(?!hf/).+",
    retries: 5
    localrule: True
    script:
        "../scripts/fetch_file.py"


rule fetch_encoder:
    """Take a hub snapshot at its pinned revision: safetensors, config and tokenizer only."""
    output:
        directory("<downloads>/hf/{snapshot}"),
    log:
        "<results>/logs/fetch/hf/{snapshot}.log",
    retries: 5
    localrule: True
    params:
        hub=lambda w: plan.hubs()[f"hf/{w.snapshot}"],
    script:
        "../scripts/fetch_encoder.py"


rule fetch:
    """Everything that needs the internet, in one job, so that `all` finds it; run it on a login node."""
    log:
        "<results>/logs/fetch.log",
    localrule: True
    params:
        paths=[] if plan.config.miniature else plan.upstream_files,
        snapshots=[(hub["repository"], hub["revision"]) for hub in plan.hubs().values()],
        is_check=False,
    script:
        "../scripts/fetch.py"


use rule fetch as check_sources with:
    """Ask whether everything that `fetch` gets can be had, and how much it is; nothing is downloaded."""
    log:
        "<results>/logs/check_sources.log",
    params:
        is_check=True,

# Needs: the network, a mirror folder, or nothing (miniature). Makes: the upstream files as they are.

HUB = {name: item.hub for name, item in CONFIG.encoders.items() if item.hub}


if CONFIG.miniature:
    WORLD = CONFIG.miniature
    TEXTS = WORLD.model_dump(include={"seed": True, "sizes": {"stories", "foreign_words"}})
    TEXTS["lending"] = WORLD.lending or WORLD.languages

    for world in sorted({little_world(path) for path in UPSTREAM}):

        rule:
            name:
                world
            # Write a little world in every upstream format.
            output:
                [upstream(path) for path in UPSTREAM if little_world(path) == world],
                manifest=f"<results>/{world}/MANIFEST.tsv",
            log:
                f"<results>/logs/{world}.log",
            benchmark:
                f"<results>/benchmarks/{world}/all.tsv"
            conda:
                "../../envs/mbert-atlas.yaml"
            threads: request("miniature").threads
            resources:
                mem_mb=memory("miniature"),
                runtime=minutes("miniature"),
            params:
                # The size of one part is no reason to write the others again.
                specification=(
                    WORLD.model_dump(exclude={"sizes": {"stories"}})
                    if world == "miniature"
                    else TEXTS | {"languages": [world.rpartition("_")[2]]}
                ),
                only=sorted(
                    {path.split("/")[0] for path in UPSTREAM if little_world(path) == world}
                ),
                code=code("miniature"),
            script:
                "../scripts/miniature.py"


# Where a file comes from is no parameter of these rules, as its checksum says what is in it: with
# another mirror, or offline, nothing is fetched again.
localrules:
    fetch_file,
    fetch_encoder,
    fetch,


rule fetch_file:
    """Take one upstream file from the mirror or download it, and check its sha256."""
    output:
        "<downloads>/{path}",
    log:
        "<results>/logs/fetch/{path}.log",
    wildcard_constraints:
        path=r"(?!hf/).+",
    retries: 5
    conda:
        "../../envs/mbert-atlas.yaml"
    script:
        "../scripts/fetch_file.py"


rule fetch_encoder:
    """Take a hub snapshot at its pinned revision: safetensors, config and tokenizer only."""
    output:
        directory("<downloads>/hf/{snapshot}"),
    log:
        "<results>/logs/fetch/hf/{snapshot}.log",
    retries: 5
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        hub=lambda wildcards: next(
            item.model_dump()
            for item in HUB.values()
            if snapshot_path(item.repository, item.revision) == f"hf/{wildcards.snapshot}"
        ),
    script:
        "../scripts/fetch_encoder.py"


rule fetch:
    """Everything that needs the internet, in one job, so that `all` finds it; run it on a login node."""
    log:
        "<results>/logs/fetch.log",
    retries: 2
    conda:
        "../../envs/mbert-atlas.yaml"
    params:
        paths=[] if CONFIG.miniature else sorted(UPSTREAM),
        snapshots=[(item.repository, item.revision) for item in HUB.values()],
    script:
        "../scripts/fetch_all.py"

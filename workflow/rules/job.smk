# What every rule with a function in workflow/jobs has in common. Such a rule is written `use rule job as NAME with:`.


rule job:
    """Nothing by itself: no file has this name."""
    output:
        "{nothing}",
    log:
        "{nothing}.log",
    wildcard_constraints:
        nothing="(?!)",
    conda:
        "../../envs/mbert-atlas.yaml"
    script:
        "../scripts/job.py"

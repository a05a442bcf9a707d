"""Imported before programs are forked: Snakemake has looked for its plugins."""

from snakemake.cli import get_argument_parser

get_argument_parser()

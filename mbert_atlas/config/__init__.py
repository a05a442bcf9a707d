"""The config as pydantic models, with checks, files and documentation."""

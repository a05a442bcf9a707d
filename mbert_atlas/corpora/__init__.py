"""Upstream formats to tidy Parquet, each with a dataset card."""

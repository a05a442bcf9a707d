"""Losses beside the task's own."""

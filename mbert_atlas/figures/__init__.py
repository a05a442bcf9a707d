"""Figures from tidy data: one look, drawn without global state, saved as SVG and PNG."""

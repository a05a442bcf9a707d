"""What finished runs have found, as tables for other software, LaTeX, PDF and one page."""

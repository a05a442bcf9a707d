"""Tanti et al. 2021, language-specificity."""

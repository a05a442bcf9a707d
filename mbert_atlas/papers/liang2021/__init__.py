"""Liang et al. (2021): where language lives in the space, and in how many dimensions."""

"""Word alignment of bitexts, and the word pairs that adjustment and analysis read."""

"""Synthetic data in many languages: meanings drawn from a seed, in every upstream format.

Meanings (:mod:`.meanings`) belong to no language; languages (:mod:`.language`) realise them as
words that keep which part of the meaning they express, and all gold labels are derived from that.
"""

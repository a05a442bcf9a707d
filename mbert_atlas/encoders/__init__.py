"""Encoders: plain folders with weights, configuration and tokenizer."""

"""Encoders: folders with weights, configuration and tokenizer."""

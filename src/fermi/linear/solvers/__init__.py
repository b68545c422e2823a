"""Minimisers of the fair objective over linear models."""

"""The report: records in, one HTML file out, which needs no network and no Python."""

from fermi.report._card import model_card
from fermi.report._page import render, write, write_card

__all__ = ["model_card", "render", "write", "write_card"]

"""The report: records in, one HTML file out, which needs no network and no Python."""

from fermi.report._page import render, write

__all__ = ["render", "write"]

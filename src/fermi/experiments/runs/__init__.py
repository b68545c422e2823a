"""Training runs: what one cell of a figure trains and measures."""

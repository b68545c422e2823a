"""The pages and pictures of figures."""

from fermi import __version__

project = "fermi"
release = __version__
copyright = "2026, the fermi authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"fermi {release}"
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]

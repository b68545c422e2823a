"""What a caller passes, of any library, as integer codes, weights and arrays; a mistake ends here, in one sentence.

From a column to its codes: `columns` → `encode` → `codes`; `groups` joins sensitive columns; `cells` makes tables.
"""

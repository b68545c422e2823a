"""The paper's statements, each with a numerical check that can come out either way: `listed.py` names them all.

A file has the statements of one subject. `statement.py` says what a statement is and judges what was measured.
"""

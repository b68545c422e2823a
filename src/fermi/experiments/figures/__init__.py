"""The paper's figures and tables, one file each: the folder is the registry."""

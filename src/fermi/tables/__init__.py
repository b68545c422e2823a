"""From a file to a model folder and back: what the command line does, without the command line."""

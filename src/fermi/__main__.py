"""`python -m fermi` is the command `fermi`."""

import sys

from fermi.cli import main

if __name__ == "__main__":
    sys.exit(main())

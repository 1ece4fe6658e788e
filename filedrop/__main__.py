"""`python -m filedrop`: the same as the command `filedrop`."""

from filedrop.cli import main

main()

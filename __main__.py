"""`python -m fsql`: the `fsql` command."""

from fsql.cli import main

if __name__ == "__main__":
    main()

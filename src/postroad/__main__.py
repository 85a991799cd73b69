"""`python -m postroad`: the same as the command `postroad`."""

from postroad.cli.main import main

if __name__ == "__main__":
    main()

"""`python -m turnout_load` is `turnout-load`."""

from turnout_load.cli.app import main

if __name__ == "__main__":
    main()

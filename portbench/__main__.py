"""`python -m portbench`: the same as the command `portbench`."""

from portbench.runner.cli import main

if __name__ == "__main__":
    main()

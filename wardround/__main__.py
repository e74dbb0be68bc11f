"""Run the command line with ``python -m wardround``, where its script is not on the path."""

from wardround.cli import main

if __name__ == "__main__":
    main()

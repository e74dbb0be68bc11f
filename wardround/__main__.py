"""``python -m wardround``: the command line, where its script is not on the path."""

from wardround.cli import main

if __name__ == "__main__":
    main()

"""`python -m cases.phantoms [FOLDER]` redraws the pictures of the built-in cases."""

from cases.phantoms import main

if __name__ == "__main__":
    main()

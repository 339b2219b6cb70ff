"""`python -m tests.toy …` is `hkoji …` with the game of the recipe added."""

from hkoji.cli.main import main
from tests.toy import register

if __name__ == "__main__":
    register()
    main()

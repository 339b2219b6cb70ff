"""Runs the builder: `python -m scripts.build.vectors [--check]`."""

from scripts.build.golden import main
from scripts.build.vectors import FOLDER, build

main("vectors", FOLDER, build)

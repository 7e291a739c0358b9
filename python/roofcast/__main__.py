"""The command `roofcast` of the package."""

import os
import pathlib
import sys


def main() -> None:
    """Becomes the program that the package has inside. It finds its data beside itself."""
    program = pathlib.Path(__file__).resolve().parent / "bin" / "roofcast"
    os.execv(program, ["roofcast", *sys.argv[1:]])


if __name__ == "__main__":
    main()

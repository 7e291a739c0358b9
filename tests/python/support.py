"""What the tests of the package share: the program that it is compared with, and warnings that are no failures."""

import json
import os
import pathlib
import re
import subprocess
import unittest
import warnings

os.environ.pop("ROOFCAST_DATA", None)  # the package has its own data

import roofcast  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("ROOFCAST_BINARY", "roofcast")


def printed(*arguments):
    """The JSON that the program prints, from the data of the sources."""
    environment = {**os.environ, "ROOFCAST_DATA": str(ROOT)}
    result = subprocess.run([PROGRAM, *arguments, "--format", "json"], env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode > 1:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout)


def without_dashes(value):
    """Texts name options in the program and keywords in Python."""
    if isinstance(value, dict):
        return {key: without_dashes(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_dashes(inner) for inner in value]
    if isinstance(value, str):
        return re.sub(r"--([a-z-]+)", lambda match: match.group(1).replace("-", "_"), value)
    return value


class Test(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        warnings.simplefilter("ignore", roofcast.Note)

    def raises(self, **expected):
        """An Error with these fields."""
        return _Raises(self, expected)


class _Raises:
    def __init__(self, test, expected):
        self._test, self._expected = test, expected

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self._test.assertIsNotNone(error, "nothing was raised")
        if not isinstance(error, roofcast.Error):
            return False
        self.error = error
        for field, value in self._expected.items():
            self._test.assertEqual(getattr(error, field), value, f"{field} of {error}")
        return True

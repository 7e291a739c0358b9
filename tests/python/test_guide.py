"""Every snippet of docs/guide/use-from-python.md runs, in the order of the page, and prints what the page shows.

`test_guide.py --write` puts into the page what the snippets print today.
"""

import contextlib
import io
import re
import sys
import unittest

from support import ROOT, Test

PAGE = ROOT / "docs" / "guide" / "use-from-python.md"
SNIPPET = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.S | re.M)


def outputs(page):
    """What each snippet shows and what it prints."""
    names: dict = {}
    for snippet in SNIPPET.finditer(page):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(snippet.group(1), PAGE.name, "exec"), names)
        yield snippet, out.getvalue()


class Guide(Test):
    def test_snippets(self):
        page = PAGE.read_text()
        self.assertEqual(page.count("```python"), len(SNIPPET.findall(page)), "each snippet is followed by its output")
        for snippet, printed in outputs(page):
            with self.subTest(snippet=snippet.group(1).splitlines()[0]):
                self.assertEqual(printed, snippet.group(2))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        text = PAGE.read_text()
        for found, now in reversed(list(outputs(text))):
            text = text[: found.start(2)] + now + text[found.end(2) :]
        PAGE.write_text(text)
    else:
        unittest.main()

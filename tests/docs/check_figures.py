"""Each figure in the tables of docs/comparisons.md stands on the page that its section names, so that none outlives its source."""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/site"))

import pages  # noqa: E402

PAGE = "docs/comparisons.md"
FIGURE = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?:e-\d+)?(?![\w]*\.\w)")


def sections(text):
    """The parts of the page that end with a sentence that names their source: (tables, source's text)."""
    found, rows = [], []
    for line in text.splitlines():
        if line.startswith("|"):
            rows.append(line)
        sources = [target for _, target in pages.links(line) if "#" in target]
        if rows and sources:
            path = os.path.normpath(os.path.join("docs", sources[0].partition("#")[0]))
            found.append((rows, path))
            rows = []
    assert not rows, f"{PAGE}: the last table names no source"
    return found


def main():
    count, problems = 0, []
    for rows, source in sections(pages.read(PAGE)):
        known = set(FIGURE.findall(pages.read(source)))
        for row in rows:
            for figure in FIGURE.findall(row):
                count += 1
                if figure not in known:
                    problems.append(f"{PAGE}: {figure} does not stand in {source}: {row}")
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{count} figures, {len(problems)} without a source")
    assert count > 60, "the page has lost its tables, or this check no longer finds them"
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

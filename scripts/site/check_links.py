"""Checks the links of the pages on a plain checkout: each leads to a file of the repository, and to a heading of it.

Links to other hosts are counted, not fetched.
"""

import os
import sys

import pages


def check(page, problems):
    counts = {"inside": 0, "outside": 0}
    text = pages.read(page)
    for line, target in pages.links(text):
        if pages.EXTERNAL.match(target):
            counts["outside"] += 1
            continue
        counts["inside"] += 1
        path, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if file.startswith("..") or not (pages.ROOT / file).exists():
            problems.append(f"{page}:{line}: {target} leads to no file")
        elif anchor and anchor not in pages.anchors(pages.read(file)):
            problems.append(f"{page}:{line}: {target} leads to no heading of {file}")
    return counts


def main():
    problems, inside, outside = [], 0, 0
    for page in pages.all_pages():
        counts = check(page, problems)
        inside, outside = inside + counts["inside"], outside + counts["outside"]
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(pages.all_pages())} pages, {inside} links inside, {outside} to other hosts, {len(problems)} dead")
    assert inside > 100, "the pages have lost their links, or this check no longer finds them"
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

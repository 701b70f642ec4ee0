"""Every fenced block of the pages has a language that says how it is checked; output and drawings are `text`."""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/site"))

import pages  # noqa: E402

CHECKED = {
    "cpp": "docs_cpp", "sh": "docs_commands", "console": "docs_commands", "json": "docs_configs", "python": "docs_configs",
    "cmake": "package_installed", "c": "docs_hosts", "fortran": "docs_hosts", "text": "nothing",
}  # fmt: skip


def main():
    blocks = [block for page in pages.all_pages() for block in pages.blocks(page)]
    problems = [f"{block.place}: \"{block.language}\" is no language that a test checks; write one of {', '.join(CHECKED)}"
                for block in blocks if block.language not in CHECKED]
    counts = collections.Counter(block.language for block in blocks)
    print(*problems, sep="\n", end="\n" if problems else "")
    for language, test in CHECKED.items():
        print(f"{counts[language]:3} {language:8} checked by {test}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""Pictures of the built site's pages, as a phone and a desk show them; ends with an error if a page is wider than its window
or writes an error to the console.

Usage: screenshots.py SITE PICTURES [PAGE...]    PAGE: index.html, api/trainer/trainer.html, ...
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))

import browser  # noqa: E402

WIDTHS = {400: 860, 1400: 1000}
PAGES = ["index", "getting_started", "from_pytorch_lightning", "from_a_loop", "nine_tricks", "one_step", "callbacks", "checkpoints",
         "data", "profile", "performance", "comparisons", "distributed", "loggers", "embedding", "config", "troubleshooting",
         "design", "decisions/index", "reliability", "versions", "security", "api/index", "api/trainer/trainer",
         "api/callbacks/early_stopping", "source/examples/mnist/mnist.cpp"]  # fmt: skip


def search_problems(page, index):
    """Searches for a class from a file, where no server helps."""
    page.open(index.resolve().as_uri())
    page.value("""(() => { const field = document.querySelector('.md-search__input'); field.focus(); field.value = 'EarlyStopping';
                  field.dispatchEvent(new Event('keyup', {bubbles: true})); })()""")
    try:
        page.wait_for("document.querySelector('.md-search-result__link[href*=\"early_stopping\"]') != null")
    except AssertionError as error:
        return [f"search: {error}", *page.errors]
    return page.errors


def main():
    site, pictures = map(pathlib.Path, sys.argv[1:3])
    wanted = sys.argv[3:] or [f"{page}.html" for page in PAGES if (site / f"{page}.html").exists()]
    found = browser.find_browser()
    if not found:
        sys.exit("There is no Chromium: install it (apt-get install chromium).")
    pictures.mkdir(parents=True, exist_ok=True)
    problems = []
    with browser.page(found) as page:
        for name in wanted:
            for width, height in WIDTHS.items():
                page.open((site / name).resolve().as_uri(), width=width, height=height)
                page.wait_for("document.readyState == 'complete'")
                inner = page.value("document.documentElement.scrollWidth")
                if inner > width:
                    problems.append(f"{name} is {inner} pixels wide in a window of {width}")
                problems += [f"{name}: {error}" for error in page.errors]
                page.errors.clear()
                picture = pictures / f"{name.removesuffix('.html').replace('/', '_')}_{width}.png"
                picture.write_bytes(page.screenshot())
        problems += search_problems(page, site / "index.html")
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(wanted)} pages at {' and '.join(map(str, WIDTHS))} pixels, {len(problems)} problems: {pictures}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

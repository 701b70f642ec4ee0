"""The checks of the pages find mistakes that are planted in a small copy of them."""

import contextlib
import io
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/site"))

import check_blocks  # noqa: E402
import check_figures  # noqa: E402
import check_links  # noqa: E402
import check_site  # noqa: E402
import cpp_blocks  # noqa: E402
import declarations  # noqa: E402
import pages  # noqa: E402
import shell_blocks  # noqa: E402

GOOD = """# A page

See [below](#two-words), [the other](docs/other.md#a-heading) and `[code](is/no.link)`.

```text
[a block](is/no.link/either)
```

## Two `words`
"""


def output_of(check, *arguments):
    """(exit code, what it prints); a check that finds too few pages may say so by an assertion."""
    printed, kept = io.StringIO(), sys.argv
    sys.argv = ["check", *arguments]
    try:
        with contextlib.redirect_stdout(printed):
            code = check.main()
    except AssertionError:
        code = None
    finally:
        sys.argv = kept
    return code, printed.getvalue()


def expect(check, text, *said):
    (pages.ROOT / "README.md").write_text(text)
    printed = output_of(check)[1]
    for part in said:
        assert part in printed, f"{check.__name__} does not say {part!r}: {printed}"
    if not said:
        assert "no " not in printed, printed


def check_pages(root):
    (root / "docs").mkdir()
    (root / "docs/other.md").write_text("# Other\n\n## A heading\n")
    pages.ROOT, pages.TOP_PAGES = root, ["README.md"]
    expect(check_links, GOOD)
    expect(check_links, GOOD + "[dead](docs/gone.md)\n", "README.md:10: docs/gone.md leads to no file")
    expect(check_links, GOOD + "[over two\nlines](docs/gone.md)\n", "README.md:10: docs/gone.md leads to no file")
    expect(check_links, GOOD + "[dead](#three-words)\n", "#three-words leads to no heading of README.md")
    expect(check_links, GOOD + "[dead](docs/other.md#b)\n", "docs/other.md#b leads to no heading of docs/other.md")
    expect(check_blocks, GOOD + "```\nplain\n```\n", 'README.md:11: "" is no language')
    row = "| 12.5 us | 1,000 |\n"
    (root / "docs/comparisons.md").write_text(f"# Figures\n\n{row}\n[there](other.md#a-heading)\n")
    (root / "docs/other.md").write_text("# Other\n\n## A heading\n\n12.5 us and 1,00\n")
    printed = output_of(check_figures)[1]
    assert "1,000 does not stand in docs/other.md" in printed and "12.5 does not" not in printed, printed
    (root / "README.md").write_text("```sh\nexec levin fit --lr 1 \\\n  --b 2 > out   # why\nsource <(levin completion bash)\n```\n"
                                    "```console\n$ levin ls\noutput\n```\n")
    found = [(command.place, command.words) for command in shell_blocks.commands()]
    assert found == [("README.md:2", ["levin", "fit", "--lr", "1", "--b", "2"]), ("README.md:4", ["levin", "completion", "bash"]),
                     ("README.md:7", ["levin", "ls"])], found  # fmt: skip


def check_built(site):
    (site / "a.html").write_text('<a href="b.html#x">x</a><a href="gone.html"></a><script src="https://a.b/c.js"></script>')
    (site / "b.html").write_text('<p id="y"></p>')
    printed = output_of(check_site, str(site))[1]
    for part in ("a.html: b.html#x leads to no place", "a.html: gone.html leads to no file", "loads https://a.b/c.js"):
        assert part in printed, printed


def check_kinds():
    def kind(text):
        return cpp_blocks.translated(pages.Block("docs/x.md", 1, "cpp", text))

    assert kind("#include <a>\nint main() {\n}\n")[0] == "program"
    assert kind("void on_fit_start(levin::Run&) override { a(); }\n")[0] == "members"
    how, code = kind("struct A {\n  int b;\n};\nA a;\na.b = 1;\n")
    assert how == "statements" and code.index("struct A") < code.index("auto block()") < code.index("a.b = 1;"), code


def check_options():
    """The help and the default of an option are found in its initializer, also where a macro has expanded it."""
    expected = ("{0.9, 0.999}", 'Decay of the "averages", two')
    rest = ', {0.9, 0.999}, "Decay of the \\"averages\\", " "two", {.min = 0})'
    assert declarations.option_arguments("= LEVIN_OPTION(betas" + rest) == expected
    assert declarations.option_arguments('= ::levin::detail::option(& betas , "betas"' + rest) == expected
    assert declarations.option_arguments("= 3") == ("3", "")


def main():
    with tempfile.TemporaryDirectory() as work:
        for name, check in (("pages", check_pages), ("site", check_built)):
            folder = pathlib.Path(work) / name
            folder.mkdir()
            check(folder)
    check_kinds()
    check_options()
    print("all planted mistakes were found")


if __name__ == "__main__":
    main()

"""Reads the manual pages of levin: man_test.py LEVIN. mandoc and groff read them too, where they are installed."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LEVIN = sys.argv[1]


def levin(*words):
    return subprocess.run([LEVIN, *words], capture_output=True, text=True)


def plain(page):
    """The words of a page, without roff's escapes."""
    for escape, text in (("\\-", "-"), ("\\(dq", '"'), ("\\(ga", "`"), ("\\(aq", "'"), ("\\(ti", "~"), ("\\(ha", "^"), ("\\&", ""), ("\\e", "\\")):
        page = page.replace(escape, text)
    return page


def check_page(name, page):
    lines = page.splitlines()
    assert lines[0].startswith(".TH ") and page.endswith("\n"), name
    titles = [line for line in lines if line.startswith(".SH ")]
    assert titles[:2] == ['.SH "NAME"', '.SH "SYNOPSIS"'] and '.SH "EXIT STATUS"' in titles, (name, titles)
    for line in lines:  # what begins with a dot is a request that we mean
        assert not line.startswith(("'", ".")) or re.match(r"\.(TH|SH|SS|PP|TP|B|br)\b", line), (name, line)
        assert not re.search(r"\\(?![-e&]|\((dq|ga|aq|ti|ha))", line), (name, line)
    name_line = lines[lines.index('.SH "NAME"') + 1]
    assert plain(name_line).startswith(name + " - ") and len(name_line) > len(name) + 10, name_line


def check_readers(folder):
    """What mandoc and groff say of the pages."""
    for page in sorted(folder.iterdir()):
        if shutil.which("mandoc"):
            lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", str(page)], capture_output=True, text=True).stdout
            faults = [line for line in lint.splitlines() if "missing date" not in line]
            assert not faults, faults
        if shutil.which("groff"):
            groff = subprocess.run(["groff", "-ww", "-man", "-Tascii", str(page)], capture_output=True, text=True)
            assert groff.returncode == 0 and not groff.stderr, (page, groff.stderr)


def main():
    commands = [line.split("\t")[0] for line in levin("complete", "").stdout.splitlines()]
    commands = [command for command in commands if not command.startswith("-")]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "man1"
        assert levin("man", "--output", str(folder)).returncode == 0
        assert {page.name for page in folder.iterdir()} == {"levin.1"} | {f"levin-{command}.1" for command in commands}
        for page in folder.iterdir():
            check_page(page.stem, page.read_text())
        check_readers(folder)
        fit = plain((folder / "levin-fit.1").read_text())
        # Each flag of --help is there, with its help, limits and default.
        flags = re.findall(r"^  (--[a-z][a-z0-9._-]*)", levin("fit", "--help").stdout, flags=re.M)
        assert len(flags) > 80
        for flag in flags:
            assert re.search(rf"^\.B {re.escape(flag)}( |$)", fit, flags=re.M), flag
        assert ".B --max-epochs" in fit and ".SS " in fit
        # Own help becomes entries.
        sweep = plain((folder / "levin-sweep.1").read_text())
        assert re.search(r"^\.B --grace-epochs N\nasha: epochs that every trial gets \[1\]; at least 1$", sweep, flags=re.M), sweep
        ckpt = plain((folder / "levin-ckpt.1").read_text())
        assert re.search(r"^\.B --dtype WORD\nWhat floating-point weights become; unset: unchanged; one of fp16, bf16, fp32$", ckpt, flags=re.M), ckpt
        assert "levin-fit(1)" in plain((folder / "levin.1").read_text())
        assert levin("man").stdout == (folder / "levin.1").read_text()
        assert levin("man", "fit").stdout == (folder / "levin-fit.1").read_text()
    wrong = levin("man", "fitt")
    assert wrong.returncode == 2 and "no command 'fitt' (did you mean fit?)" in wrong.stderr, wrong.stderr
    assert levin("man", "fit", "predict").returncode == 2 and levin("man", "fit", "--docs").returncode == 2
    print(f"{len(commands) + 1} pages")


if __name__ == "__main__":
    main()

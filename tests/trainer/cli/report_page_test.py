"""Opens the page of `levin report` in Chromium: report_page_test.py LEVIN. Skipped (77) without a browser."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]


def write_run(folder, shift):
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"id": "0"}')
    (folder / "config.json").write_text(json.dumps({"model": {"lr": shift}, "name": "<b>bold</b>"}))
    lines = [
        {"step": step, "epoch": step // 10, "wall_seconds": step / 7, "loss": 1 / step + shift, "<img src=x>": "NaN"}
        for step in range(1, 31)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def main():
    browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if browser is None:
        print("SKIPPED: there is no browser; install chromium")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_run(folder / "runs" / "version_0", 0.1)
        write_run(folder / "runs" / "version_1", 0.2)
        page = folder / "report.html"
        subprocess.run([sys.argv[1], "report", folder / "runs", "--out", page], check=True, cwd=folder)
        for width in (400, 1400):
            run = subprocess.run(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
                 f"--window-size={width},1600", f"--user-data-dir={folder / 'profile'}", page.as_uri()],
                capture_output=True, text=True, timeout=120, check=True,
            )  # fmt: skip
            errors = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
            assert not errors, errors
            dom = run.stdout
            assert dom.count("<figure>") == 2, dom.count("<figure>")
            paths = re.findall(r'<path d="(M[^"]*)"', dom)
            assert len(paths) == 2 and all(path.count("L") == 29 for path in paths), paths
            assert "30 values are not finite" in dom or "60 values are not finite" in dom
            assert "<img" not in dom and "&lt;img src=x&gt;" in dom
            assert "Differences of the configurations" in dom and "model.lr" in dom
            assert dom.count("killed</td>") == 2
            assert 'aria-label="loss by steps.' in dom
    print("the page is drawn, without an error on the console")


if __name__ == "__main__":
    main()

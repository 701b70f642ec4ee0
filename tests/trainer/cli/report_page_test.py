"""Opens the page of `levin report` in Chromium: report_page_test.py LEVIN [PICTURES]. Skipped (77) without a browser.

PICTURES: a folder for screenshots, for people.
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
import browser

CLASSES = ["cat", "dog", "<i>bird</i>"]


def png_bytes():
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    pixels = b"".join(b"\0" + bytes((row * 16 + column) % 256 for column in range(16)) for row in range(16))
    header = struct.pack(">IIBBBBB", 16, 16, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


def write_run(folder, shift):
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"id": "0"}')
    (folder / "config.json").write_text(json.dumps({"model": {"lr": shift}, "name": "<b>bold</b>"}))
    lines = [
        {"step": step, "epoch": step // 10, "wall_seconds": step / 7, "loss": 1 / step + shift, "<img src=x>": "NaN",
         "lr-SGD": shift / step, "train/device/samples_per_sec": 100 + step, "grad_2.0_norm_total": 1.5,
         "DeviceStatsMonitor.on_train_batch_end/resident_bytes": 1e8 + step}
        for step in range(1, 31)
    ]  # fmt: skip
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_more(folder):
    """What callbacks write beside the metrics."""
    (folder / "environment.json").write_text(json.dumps({"sessions": [
        {"host": "<s>here</s>", "cpu": "fast", "memory_bytes": 2**34}, {"host": "there", "cpu": "slow", "memory_bytes": 2**33}]}))  # fmt: skip
    (folder / "classification").mkdir()
    sample = {"index": 4, "target": 0, "predicted": 1, "score": 0.75}
    (folder / "classification" / "validate.json").write_text(json.dumps({
        "stage": "validate", "epoch": 2, "step": 30, "classes": CLASSES, "matrix": [[5, 1, 0], [0, 7, 2], [0, 0, 4]],
        "samples": [sample], "mistakes": [sample], "mistakes_picture": "validate_mistakes.png"}))  # fmt: skip
    (folder / "classification" / "validate_mistakes.png").write_bytes(png_bytes())
    (folder / "classification" / "test.json").write_text('{"matrix": [[1, 2], [3]]}')
    (folder / "samples").mkdir()
    (folder / "samples" / "epoch=9.png").write_bytes(b"older")
    (folder / "samples" / "epoch=10.png").write_bytes(png_bytes())


def check_curves(page):
    assert page.value("document.querySelectorAll('figure').length") == 6
    paths = page.value("[...document.querySelectorAll('svg path')].map(path => path.getAttribute('d'))")
    drawn = [path for path in paths if path]
    assert len(drawn) == 10 and all(path.count("L") == 29 for path in drawn), drawn
    titles = page.value("[...document.querySelectorAll('h2')].map(title => title.textContent)")
    for title in ("Losses and metrics", "Learning rate", "Throughput", "Memory and load", "Gradient norms", "Environment"):
        assert title in titles, (title, titles)
    text = page.value("document.body.textContent")
    assert "60 values are not finite" in text and "model.lr" in text and "<img src=x>" in text
    assert page.value("document.querySelectorAll('img[src=x], td b, td i, td s').length") == 0
    assert page.value("[...document.querySelectorAll('td')].filter(cell => cell.textContent === 'killed').length") == 2


def check_more(page):
    text = page.value("document.body.textContent")
    assert "16 of 19 right, 84.2 %, in epoch 3, step 30." in text and "<i>bird</i>" in text
    assert "test.json is damaged" in text and "16.0 GiB" in text and "<s>here</s>" in text
    # Both pictures are decoded: the mistakes, and the newest of the samples.
    page.value("Promise.all([...document.images].map(image => image.decode()))")
    assert page.value("[...document.images].map(image => image.naturalWidth)") == [16, 16]
    assert page.value("document.images[0].alt") == "cat as dog"


def focus(page, label):
    """Goes to an element by the Tab key alone, as who has no mouse."""
    for _ in range(40):
        page.press("Tab")
        if label in page.value("document.activeElement.getAttribute('aria-label') || document.activeElement.parentElement.textContent"):
            return
    raise AssertionError(f"Tab does not reach {label}")


def check_keyboard(page):
    caption = "document.activeElement.parentElement.querySelector('figcaption').textContent"
    label = "document.activeElement.getAttribute('aria-label')"
    ticks = "[...document.activeElement.querySelectorAll('text')].map(text => text.textContent).join()"
    focus(page, "show ")
    page.press(" ")  # hides the first run
    assert page.value("[...document.querySelectorAll('svg path')].filter(path => path.getAttribute('d')).length") == 5
    page.press(" ")
    focus(page, "loss by steps")
    assert "Last values:" in page.value(label)
    page.press("ArrowRight")
    page.press("ArrowRight")
    read = page.value(caption)
    assert " at 17" in read or " at 16" in read, read
    whole = page.value(ticks)
    page.press("+")
    assert page.value(ticks) != whole
    page.press("0")
    assert page.value(ticks) == whole


def main():
    program = browser.find_browser()
    if program is None:
        print("SKIPPED: there is no browser; install chromium")
        sys.exit(77)
    pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as name, browser.page(program) as page:
        folder = pathlib.Path(name)
        write_run(folder / "runs" / "version_0", 0.1)
        write_run(folder / "runs" / "version_1", 0.2)
        write_more(folder / "runs" / "version_1")
        report = folder / "report.html"
        subprocess.run([sys.argv[1], "report", folder / "runs", "--out", report], check=True, cwd=folder)
        for width, media, scheme in ((400, "screen", "light"), (1400, "screen", "dark"), (800, "print", "light"), (1400, "screen", "light")):
            page.open(report.as_uri(), width, 1600, media, scheme)
            check_curves(page)
            check_more(page)
            wide = page.value("document.documentElement.scrollWidth")
            assert wide <= width, f"the page is {wide} wide on a screen of {width}"
            if pictures:
                (pictures / f"{width}_{media}_{scheme}.png").write_bytes(page.screenshot())
        check_keyboard(page)
        assert not page.errors, page.errors
    print("the page is drawn and driven by keys, without an error on the console")


if __name__ == "__main__":
    main()

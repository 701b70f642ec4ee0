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
    curves = [{"x": [0, 0.1, 0.2, 0.5, 1], "y": [0, 0.5 + index / 10, 0.8, 0.9, 1]} for index in range(3)]
    (folder / "classification" / "validate.json").write_text(json.dumps({
        "stage": "validate", "epoch": 2, "step": 30, "classes": CLASSES, "matrix": [[5, 1, 0], [0, 7, 2], [0, 0, 4]],
        "samples": [sample], "mistakes": [sample], "mistakes_picture": "validate_mistakes.png",
        "roc": curves, "precision_recall": curves}))  # fmt: skip
    (folder / "classification" / "validate_mistakes.png").write_bytes(png_bytes())
    (folder / "classification" / "test.json").write_text('{"matrix": [[1, 2], [3]]}')
    (folder / "samples").mkdir()
    (folder / "samples" / "epoch=9.png").write_bytes(b"older")
    (folder / "samples" / "epoch=10.png").write_bytes(png_bytes())


def check_curves(page):
    assert page.value("document.querySelectorAll('figure').length") == 8
    paths = page.value("[...document.querySelectorAll('svg path')].map(path => path.getAttribute('d'))")
    drawn = [path for path in paths if path]
    # Metrics of two runs; and, of three classes, the curves of ROC and of precision and recall.
    assert sorted(path.count("L") for path in drawn) == [4] * 6 + [29] * 10, drawn
    assert "false positives" in page.value("document.body.textContent")
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
    assert page.value("[...document.querySelectorAll('svg path')].filter(path => path.getAttribute('d')).length") == 5 + 6  # those of classes stay
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


def write_lines(folder, lines, **more):
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps({"epoch": 0, "wall_seconds": i, **line}) + "\n" for i, line in enumerate(lines)))
    for name, content in more.items():
        (folder / f"{name}.json").write_text(json.dumps(content))


def report_of(levin, folder, runs):
    """Has a report written; the time is for a hang."""
    subprocess.run([levin, "report", folder / runs, "--out", folder / f"{runs}.html"], check=True, cwd=folder, timeout=300)
    return (folder / f"{runs}.html").as_uri()


def check_values(page, levin, folder):
    """Numbers between which there are few others, and those at the ends of what there is."""
    large = 1.7976931348623157e308
    pairs = {"near": [1e16, 1e16 + 2], "next": [1, 1 + 2.3e-16], "far": [-large, large], "largest": [large, large],
             "smallest": [5e-324, 5e-324], "zeros": [0, 0], "from_zero": [0, 5e-324], "usual": [0.1, 0.3]}  # fmt: skip
    write_lines(folder / "values" / "a", [{"step": 2**53 + 2 * i, **{name: pair[i] for name, pair in pairs.items()}} for i in range(2)])
    write_lines(folder / "values" / "b", [{"step": 10**17, "alone": 1}])
    page.open(report_of(levin, folder, "values"))
    paths = page.value("[...document.querySelectorAll('figure')].map(one => [one.querySelector('h3').textContent, one.querySelector('path').getAttribute('d')])")
    assert sorted(name for name, _ in paths) == sorted([*pairs, "alone"]), paths
    assert all(path.count("L") == (name != "alone") and "NaN" not in path and "Infinity" not in path for name, path in paths), paths
    assert page.value("[...document.querySelectorAll('line, text')].every(one => [...one.attributes].every(at => at.value !== 'NaN'))")
    labels = page.value("[...document.querySelectorAll('figure')].find(one => one.textContent.startsWith('usual')).querySelectorAll('text')[1].textContent")
    assert labels == "0.15", labels
    # Zooming by keys ends where there are no numbers between, and where there are no larger ones.
    for key in ("+", "-"):
        page.value(f"(() => {{ for (let i = 0; i < 3000; ++i) charts[0].key(new KeyboardEvent('keydown', {{key: '{key}'}})); }})()")
        assert page.value("Number.isFinite(charts[0].x0) && charts[0].x1 > charts[0].x0")
    assert not page.errors, page.errors


def check_names(page, levin, folder):
    """Names that every object of JavaScript has, in one run and not in the other; facts of any kind."""
    names = ["constructor", "__proto__", "toString", "valueOf", "hasOwnProperty"]
    odd = {"toString": 1, "valueOf": 2}
    write_lines(folder / "names" / "a", [{"step": i, "loss": 1, **dict.fromkeys(names, i)} for i in range(3)],
                config={"__proto__": {"a": 1}, "constructor": 2, "usual": 3}, environment={"sessions": [None, 1, {**odd, "__proto__": odd, "memory_bytes": odd}]})  # fmt: skip
    write_lines(folder / "names" / "b", [{"step": i, "loss": 2} for i in range(3)], config={"usual": 3})
    (folder / "names" / "b" / "classification").mkdir()
    sample = {"index": odd, "target": "constructor", "predicted": "length", "score": [odd]}
    (folder / "names" / "b" / "classification" / "test.json").write_text(json.dumps(
        {"stage": odd, "epoch": odd, "step": odd, "classes": 5, "matrix": [[1, 2], [3, 4]], "samples": "text", "mistakes": [None, 7, sample],
         "roc": [None, 7, {"x": 5}, {"x": [0, "a", None, 9], "y": [0, 1]}], "precision_recall": odd}))  # fmt: skip
    page.open(report_of(levin, folder, "names"))
    assert page.value("document.querySelectorAll('figure').length") == len(names) + 2  # one has a curve that can be drawn
    titles = page.value("[...document.querySelectorAll('h2')].map(title => title.textContent)")
    for title in ("Last values", "Differences of the configurations", "Environment"):
        assert title in titles, (title, titles)
    assert titles[-1].startswith("Configuration of ") and titles[-1].endswith("b"), titles
    rows = page.value("[...document.querySelectorAll('tr')].map(row => [...row.cells].map(cell => cell.textContent))")
    for name in names:
        assert [name, "2", "-"] in rows, (name, rows)
    assert ["__proto__.a", "1", "-"] in rows and ["constructor", "2", "-"] in rows, rows
    assert '"toString":1' in page.value("document.body.textContent")
    assert not page.errors, page.errors


def check_many(page, levin, folder):
    """Very many metrics, of which not all are drawn at once, and a config and rows with as many names."""
    many = 100_000
    row = {f"layer/{i}": i for i in range(many)}
    write_lines(folder / "many" / "a", [{"step": i, **row, "last one": i} for i in range(2)], config=row)
    page.open(report_of(levin, folder, "many"))
    figures = "document.querySelectorAll('figure').length"
    assert 0 < page.value(figures) <= 500 and page.value("document.querySelectorAll('td').length") > 2 * many
    assert f"{page.value(figures)} of {many + 1} metrics are shown." in page.value("document.body.textContent")
    page.value("filter.value = 'LAST one'; filter.dispatchEvent(new Event('input'))")
    assert page.value("[...document.querySelectorAll('figure h3')].map(title => title.textContent)") == ["last one"]
    assert page.value("document.querySelector('svg path').getAttribute('d')").count("L") == 1
    assert not page.errors, page.errors


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
        check_values(page, sys.argv[1], folder)
        check_names(page, sys.argv[1], folder)
        check_many(page, sys.argv[1], folder)
    print("the page is drawn and driven by keys, without an error on the console")


if __name__ == "__main__":
    main()

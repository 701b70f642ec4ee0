"""What a run of the program shows, without what differs from run to run: times, ids, folders."""

import collections
import csv
import hashlib
import io
import json
import pickle
import re
import zipfile

# Kinds of effects, the strongest first.
KINDS = ("weights", "metrics", "checkpoints", "files", "output", "exit")
PROCESS = re.compile(r"ranks_of_process_\d+")
TIMES = re.compile(r"\d[\d.]*(e[+-]\d+)?k? ?(it/s|s|ms|us|MiB|MB|GiB|KiB)\b|\d\d:\d\d:\d\d")
NUMBER = re.compile(r"\d[\d.]*(e[+-]?\d+)?")
NO_EFFECT = re.compile(r"^levin: warning: .* has no effect: .*\n?", re.MULTILINE)
MEASURED = re.compile("seconds|/time|_per_sec|_time|^DeviceStatsMonitor|mfu")
RUN_FILES = {"config.json", "environment.json", "run.json", ".lock", "summary.json"}  # they repeat what was given


class Contents(pickle.Unpickler):
    """A checkpoint's tree, without torch: tensors are tuples that name their bytes."""

    def __init__(self, archive):
        self.archive = archive
        name = next(one for one in archive.namelist() if one.endswith("data.pkl"))
        self.prefix = name[:-len("data.pkl")]
        super().__init__(io.BytesIO(archive.read(name)))

    def find_class(self, module, name):
        return collections.OrderedDict if name == "OrderedDict" else lambda *values: (name, *values)

    def persistent_load(self, given):
        return digest(self.archive.read(f"{self.prefix}data/{given[2]}"))


def digest(content):
    return hashlib.sha256(content).hexdigest()[:16]


def saved_tree(path):
    with zipfile.ZipFile(path) as archive:
        return Contents(archive).load()


def without_times(rows):
    """Of what is measured, only that it is there."""
    return [{key: "#" if value and MEASURED.search(key) else value for key, value in row.items()} for row in rows]


def is_profile(path):
    return re.match("(fit|other)-?(simple|advanced|memory|trace)?.*[.](txt|json)$", path.name) is not None


def profile_signature(text):
    """The sections and columns of a report, how many rows it has, and how often each action ran."""
    lines = [line for line in text.splitlines() if not line.startswith("---")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    columns = {tuple(row) for row in rows if row[0] in ("Action", "Operator")}
    calls = [(row[0], row[2]) for row in rows if len(row) == 6]
    sections = [NUMBER.sub("#", line) for line in lines if not line.startswith("|")]
    return len(lines), sorted(sections), sorted(columns), sorted(calls)


def file_signature(path):
    name = path.name
    if name in RUN_FILES:
        return "there"
    if name.startswith("events.out.tfevents") or name.endswith(".wandb"):
        return path.stat().st_size
    content = path.read_bytes()
    if is_profile(path):
        return "there" if name.endswith(".json") else profile_signature(content.decode())
    try:
        return TIMES.sub("#", content.decode())
    except UnicodeDecodeError:
        return digest(content)


def signature_of(folder, code, output):
    """Kind -> what the run shows of it. `folder` is where the run was started; what it holds beforehand must be removed."""
    shown = {kind: {} for kind in KINDS}
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        place = str(path.relative_to(folder))
        place = PROCESS.sub("ranks", place)
        place = re.sub(r"\d{10}\.[^/]*|\d{8}_\d{6}[^/]*", "#", place)
        if path.name == "weights.pt":
            shown["weights"][place] = repr(saved_tree(path))
        elif path.name == "metrics.csv":
            with path.open() as file:
                shown["metrics"][place] = repr(without_times(csv.DictReader(file)))
        elif path.name == "metrics.jsonl":
            shown["metrics"][place] = repr(without_times(map(json.loads, path.read_text().splitlines())))
        elif path.suffix == ".ckpt":
            tree = saved_tree(path)
            states = [one["state"] for one in tree.get("optimizer_states", [])]
            shown["checkpoints"][place] = repr((sorted(tree), tree["state_dict"], states))
        else:
            shown["files"][place] = file_signature(path)
    text = NO_EFFECT.sub("", PROCESS.sub("ranks", output)).replace(str(folder), "FOLDER")
    shown["output"] = re.sub("[a-z-]+_per_sec.*|DeviceStats.*|train/.*", "#", TIMES.sub("#", text))
    if any(map(is_profile, folder.rglob("*"))):
        shown["output"] = text.count("\n")
    shown["exit"] = code
    return shown


def differences(one, other):
    return [kind for kind in KINDS if one[kind] != other[kind]]

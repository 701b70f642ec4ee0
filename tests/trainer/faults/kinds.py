"""What a case runs, and what it must have made in the end."""

import json
import pathlib

_FLAGS = ("--model.class ImageClassifier --model.net mlp --model.hidden 8 --data.class SyntheticDigits --data.train-size 64 "
          "--data.val-size 16 --data.batch-size 8 --accelerator cpu --seed 7 --log-every-n-steps 1 --enable-progress-bar false "
          "--num-threads 1").split()
_CALLBACKS = [{"class": "ModelCheckpoint", "every_n_train_steps": 3, "save_last": True},
              {"class": "ModelCheckpoint", "monitor": "val_loss", "save_top_k": 2, "dirpath": "best"}]
_TIMES = ("wall_seconds", "seconds", "samples_per_second")


def rows_of(file):
    """The rows of metrics.jsonl, without their times."""
    rows = []
    for line in file.read_text().splitlines():
        rows.append(json.dumps({key: value for key, value in json.loads(line).items() if key != "wall_seconds"}))
    return rows


def results_of_run(folder):
    """The results of a run that ended; nothing of one that did not."""
    if not (folder / "weights.pt").exists() or not (folder / "summary.json").exists():
        return {}
    summary = json.loads((folder / "summary.json").read_text())
    found = {"weights": (folder / "weights.pt").read_bytes(), "status": summary["status"], "metrics": summary.get("metrics"),
             "epochs": summary.get("epochs"), "steps": summary.get("global_step", summary.get("steps"))}
    for name in ("metrics.jsonl", "metrics.csv"):
        if (folder / name).exists():
            lines = (folder / name).read_text().splitlines()
            if name == "metrics.csv":  # the times are one column
                column = lines[0].split(",").index("wall_seconds") if lines else 0
                found[name] = [",".join(cell for i, cell in enumerate(line.split(",")) if i != column) for line in lines]
            else:
                found[name] = rows_of(folder / name)
    return found


def newest_run(folder):
    """The results of the newest run below a folder that ended."""
    versions = [(int(path.name.partition("_")[2]), path) for path in folder.glob("version_*")]
    return next((found for _, path in sorted(versions, reverse=True) if (found := results_of_run(path))), {})


class Fit:
    """levin fit on one process, or on two ranks."""

    def __init__(self, name, more=()):
        self.name, self.more = name, list(more)
        self.has_ranks = "--devices" in self.more

    def words(self, programs):
        return [programs.levin, "fit", *_FLAGS, "--max-epochs", "3", "--default-root-dir", ".", "--name", "run", "--ckpt-path", "last",
                "--logger", '["CSVLogger","JSONLinesLogger"]', "--callbacks", json.dumps(_CALLBACKS), *self.more]

    def results(self, folder):
        found = newest_run(folder / "run")
        return {**found, "best": sorted(path.name for path in (folder / "best").glob("*.ckpt"))} if found else {}


class Nodes(Fit):
    """The same on two machines, which network namespaces stand for."""

    def __init__(self, name, strategy):
        super().__init__(name, ["--devices", "1", "--num-nodes", "2", "--strategy", strategy, "--timeout-seconds", "4"])


class Session:
    """A program that trains by levin::Session (session_program.cpp)."""

    name, has_ranks = "session", False

    def words(self, programs):
        return [programs.session, "."]

    def results(self, folder):
        return newest_run(folder / "run")


class Sweep:
    """levin sweep with three trials, two at once. Trials that a fault has ended begin anew."""

    name, has_ranks = "sweep", False

    def words(self, programs):
        return [programs.levin, "sweep", "--folder", "sweep", "--jobs", "2", "--retry-failed", *_FLAGS, "--max-epochs", "2",
                "--logger", '["CSVLogger","JSONLinesLogger"]', "--model.optimizer.lr", "0.01,0.1,0.2"]

    def results(self, folder):
        sweep = folder / "sweep"
        if not (sweep / "best.json").exists() or "failed" in (sweep / "trials.csv").read_text():
            return {}
        trials = {f"trial {number}": newest_run(sweep / f"trial_{number:03}") for number in range(3)}
        flat = {f"{trial}, {name}": value for trial, found in trials.items() for name, value in found.items()}
        return {**flat, "trials.csv": (sweep / "trials.csv").read_text(), "best.json": (sweep / "best.json").read_text()}


class Serve:
    """levin serve, which shows a run and changes nothing."""

    name, has_ranks = "serve", False

    def words(self, programs):
        return [programs.levin, "serve", ".", "--port", "0"]


_RANKS = ["--devices", "2", "--timeout-seconds", "4"]
KINDS = {kind.name: kind for kind in (
    Fit("one"), Fit("workers", ["--data.num-workers", "2"]), Fit("ddp", [*_RANKS, "--strategy", "ddp"]),
    Fit("zero1", [*_RANKS, "--strategy", "zero1"]), Fit("fsdp", [*_RANKS, "--strategy", "fsdp", "--strategy.state_dict_type", "sharded"]),
    Session(), Sweep(), Serve(), Nodes("cut-ddp", "ddp"), Nodes("cut-fsdp", "fsdp"))}


def difference(found, expected, rows_may_lack=False, columns_may_lack=False):
    """The first difference between results; empty without one. A logger that fails warns, and rows lack; where it fails on
    and on, metrics.csv may not get its columns."""
    for name in sorted(set(found) | set(expected)):
        a, b = found.get(name), expected.get(name)
        if a == b or (rows_may_lack and columns_may_lack and "metrics." in name):
            continue
        if rows_may_lack and "metrics." in name and isinstance(a, list) and isinstance(b, list) and set(a) <= set(b):
            continue
        if isinstance(a, bytes) and isinstance(b, bytes):
            return f"{name} differs ({len(a)} and {len(b)} bytes)"
        if isinstance(a, list) and isinstance(b, list):
            return f"{name} differs: only here {[x for x in a if x not in b][:2]}, missing {[x for x in b if x not in a][:2]}, " \
                   f"{len(a)} and {len(b)}"
        return f"{name}: {str(a)[:300]} in place of {str(b)[:300]}"
    return ""

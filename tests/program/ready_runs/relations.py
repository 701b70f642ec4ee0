"""What must hold for a run of a drawn config; ready_runs_test.py says it of each relation."""

import copy
import json
import os
import pathlib
import re
import subprocess
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "trainer" / "effects"))

import bases  # noqa: E402

# What draws on each rank, sees its whole batch, or divides among ranks otherwise than by samples.
NOT_WITH_RANKS = {"model": ("dropout", "dice_weight"), "data": ("batch_transforms", "shuffle_buffer"),
                  "trainer": ("auto_microbatch", "overfit_batches")}
SEE_THEIR_BATCH = ("SentenceEncoder", "FCOS")
# Their exported program embeds one text, where predict_step takes two.
PROGRAM_OF_A_PART = ("SentenceEncoder",)
# Of the machine, or of a rank.
TIMES = re.compile("seconds|_per_sec|_time|^DeviceStatsMonitor|mfu|^train/")


class Levin:
    def __init__(self, program):
        self.program = program

    def run(self, place, name, config, command=("fit",), flags=()):
        """Exit code and output of a run in a folder of its own."""
        where = place / name
        where.mkdir(parents=True, exist_ok=True)
        (where / "given.json").write_text(json.dumps(config, indent=1))
        done = subprocess.run([self.program, *command, "--config", "given.json", *flags], cwd=where, capture_output=True,
                              text=True, errors="replace", timeout=300, env={**os.environ, "LEVIN_ALLOW_PYTHON": "1"})
        return done.returncode, done.stdout + done.stderr


def difference(one, other, tolerance=0.0, path=""):
    """The first difference between two trees, as the path to it; empty if there is none."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"{path}: {one.dtype}{list(one.shape)} and {other.dtype}{list(other.shape)}"
        if tolerance == 0.0 or not one.is_floating_point():
            same = torch.equal(one.contiguous().view(-1).view(torch.uint8), other.contiguous().view(-1).view(torch.uint8))
            return "" if same else f"{path}: differ by {(one.double() - other.double()).abs().max():.3g}"
        close = torch.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)
        return "" if close else f"{path}: differ by {(one - other).abs().max():.3g}"
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return f"{path}: keys {sorted(map(str, one.keys() ^ other.keys()))}"
        return next((found for key in one if (found := difference(one[key], other[key], tolerance, f"{path}.{key}"))), "")
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) != len(other):
            return f"{path}: {len(one)} and {len(other)} entries"
        return next((found for i, (a, b) in enumerate(zip(one, other)) if (found := difference(a, b, tolerance, f"{path}[{i}]"))), "")
    if isinstance(one, float) and isinstance(other, float):
        same = one == other or (one != one and other != other) or abs(one - other) <= tolerance * max(1, abs(one))
        return "" if same else f"{path}: {one!r} and {other!r}"
    return "" if one == other else f"{path}: {one!r} and {other!r}"


def run_folder(where):
    return next(iter(sorted(where.glob("*/version_*"))), None)


def weights(where):
    return torch.load(run_folder(where) / "weights.pt", weights_only=False)


def rows(where):
    file = run_folder(where) / "metrics.jsonl"
    if not file.exists():
        return []
    return [{key: value for key, value in json.loads(line).items() if not TIMES.search(key)} for line in file.read_text().splitlines()]


def tail(output):
    return " | ".join(line for line in output.splitlines()[-4:] if line.strip())[-700:]


class Refused(Exception):
    """levin refuses what was drawn, or the run reached what cannot be compared."""


class Case:
    """A drawn config; each function is a relation, and returns what differs."""

    def __init__(self, levin, place, dice, options):
        self.levin, self.place, self.dice, self.options = levin, place, dice, options

    def fit(self, name, config, flags=()):
        code, output = self.levin.run(self.place, name, config, flags=flags)
        if code == 2:
            raise Refused(tail(output))
        if code != 0:
            raise AssertionError(f"{name}: exit code {code}: {tail(output)}")
        return output

    def resume(self, config):
        saver = {"class": "ModelCheckpoint", "filename": "at-{step}", "every_n_train_steps": 1, "save_top_k": -1, "save_last": True}
        config = bases.merged(config, {})
        config["trainer"]["callbacks"] = [*config["trainer"]["callbacks"], saver]
        self.fit("unbroken", config)
        found = sorted((run_folder(self.place / "unbroken") / "checkpoints").glob("at-*"))
        if not found:
            raise Refused("no checkpoint was saved")
        chosen = self.dice.choice(found)
        self.fit("resumed", config, flags=("--ckpt-path", str(chosen)))
        where, other = self.place / "unbroken", self.place / "resumed"
        problems = [difference(weights(where), weights(other), path="weights")]
        lasts = [run_folder(one) / "checkpoints" / "last.ckpt" for one in (where, other)]
        if all(one.is_file() for one in lasts):
            trees = [torch.load(one, weights_only=False) for one in lasts]
            problems += [difference(*(tree[key] for tree in trees), path=key) for key in ("state_dict", "optimizer_states", "lr_schedulers")
                         if key in trees[0]]
        unbroken, resumed = rows(where), rows(other)
        if resumed != unbroken[len(unbroken) - len(resumed):]:
            different = next(((a, b) for a, b in zip(unbroken[len(unbroken) - len(resumed):], resumed) if a != b), None)
            problems.append(f"rows after the resume: {different}")
        return [f"from {chosen.name}: {one}" for one in problems if one]

    def ranks(self, config):
        config["trainer"]["precision"] = "64-true"
        config["trainer"]["sync_batchnorm"] = True
        if config["trainer"].get("strategy") not in ("ddp", "zero1", "fsdp"):
            config["trainer"]["strategy"] = "ddp"
        for part, options in NOT_WITH_RANKS.items():
            for option in options:
                config[part].pop(option, None)
        config["model"].get("adapter", {}).pop("dropout", None)
        self.refuse_losses_of_batches(config)
        if config["data"]["class"] == "Tar":
            config["data"]["ranks_take"] = "samples"
        one, two = copy.deepcopy(config), copy.deepcopy(config)
        del one["trainer"]["strategy"]
        one["trainer"].pop("devices", None)
        two["trainer"]["devices"] = 2
        two["data"]["batch_size"] = 4
        one["data"]["batch_size"] = 8
        self.fit("one", one)
        self.fit("ranks", two)
        problems = [difference(weights(self.place / "one"), weights(self.place / "ranks"), 1e-9, "weights")]
        problems.append(difference(rows(self.place / "one"), rows(self.place / "ranks"), 1e-6, "rows"))
        return [one for one in problems if one]

    def differences(self, one, other):
        """Of the weights and the rows of two fits, to the bit."""
        problems = [difference(weights(self.place / one), weights(self.place / other), path="weights")]
        if rows(self.place / one) != rows(self.place / other):
            problems.append("rows differ")
        return [one for one in problems if one]

    def workers(self, config):
        one, other = copy.deepcopy(config), copy.deepcopy(config)
        one["data"]["num_workers"] = 0
        other["data"]["num_workers"] = self.dice.choice([1, 2, 3])
        self.fit("none", one)
        self.fit("workers", other)
        return self.differences("none", "workers")

    def validate(self, config):
        config["model"].pop("metrics", None)  # BootStrapper draws
        self.fit("fit", config)
        folder = run_folder(self.place / "fit")
        last = rows(self.place / "fit")[-1:]
        saved = folder / "checkpoints" / "last.ckpt"
        is_last = saved.is_file() and torch.load(saved, weights_only=False)["global_step"] == (last or [{}])[0].get("step")
        if not is_last or "val_loss" not in last[0]:
            raise Refused("the run ends without a validation")
        code, output = self.levin.run(self.place, "validate", config, ("validate",), ("--ckpt-path", str(saved)))
        if code != 0:
            return [f"validate: exit code {code}: {tail(output)}"]
        said = dict(line.split()[:2] for line in output.splitlines() if line.startswith("val_"))
        logged = {name: f"{value:.6g}" for name, value in last[0].items() if name.startswith("val_")}
        return [f"validate: {said}, and the fit logged {logged}"] if said != logged else []

    def refuse_losses_of_batches(self, config):
        if config["model"]["class"] in SEE_THEIR_BATCH:
            raise Refused("the loss of a sample depends on the others of its batch")

    def places(self, config):
        self.refuse_losses_of_batches(config)
        for option in ("devices", "strategy", "auto_microbatch"):
            config["trainer"].pop(option, None)
        config["trainer"].update({"precision": "32-true", "limit_val_batches": 1.0})
        for option in ("metrics", "dice_weight"):  # BootStrapper draws; the Dice loss sees its whole batch
            config["model"].pop(option, None)
        self.fit("fit", config)
        saved = run_folder(self.place / "fit") / "checkpoints" / "last.ckpt"
        if not saved.is_file():
            raise Refused("no checkpoint was saved")
        found = {}
        for strategy in ("one", "ddp", "fsdp"):
            there = copy.deepcopy(config)
            if strategy != "one":
                there["trainer"].update({"devices": 2, "strategy": strategy})
            code, output = self.levin.run(self.place, strategy, there, ("validate",), ("--ckpt-path", str(saved)))
            if "there is nothing to do" in output:
                raise Refused(tail(output))
            if code != 0:
                return [f"validate, {strategy}: exit code {code}: {tail(output)}"]
            found[strategy] = {line.split()[0]: float(line.split()[1]) for line in output.splitlines() if line.startswith("val_")}
        return [f"{strategy}: {values}, one process: {found['one']}" for strategy, values in found.items()
                if difference(found["one"], values, 2e-5)]

    def again(self, config):
        config["trainer"].pop("detect_anomaly", None)  # LibTorch then looks up the names of a stack for each operator
        if self.dice.random() < 0.3:
            config["trainer"]["auto_lr_find"] = True
        self.fit("fit", config)
        self.fit("again", json.loads((run_folder(self.place / "fit") / "config.json").read_text()))
        return self.differences("fit", "again")

    def predictions(self, name, config, checkpoint=None):
        flags = ["--ckpt-path", str(checkpoint)] if checkpoint else []
        code, output = self.levin.run(self.place, name, config, ("predict",), [*flags, "--output", "predictions.jsonl"])
        if code == 2 and name == "predict":
            raise Refused(tail(output))
        if code != 0:
            raise AssertionError(f"predict, {name}: exit code {code}: {tail(output)}")
        lines = [json.loads(line) for line in (self.place / name / "predictions.jsonl").read_text().splitlines()]
        for key in lines[0] if lines else ():
            if len({len(line[key]) for line in lines if isinstance(line[key], list)}) > 1:
                raise Refused(f"predictions have several lengths, those of their batches: {key}")
        return lines

    def exported(self, name, config, checkpoint, *flags):
        """The file that `levin export` writes; none if it says why it cannot."""
        code, output = self.levin.run(self.place, name, config, ("export",), ("--ckpt-path", str(checkpoint), "--out", *flags))
        if code not in (0, 2):
            raise AssertionError(f"export, {name}: exit code {code}: {tail(output)}")
        return str(self.place / name / flags[0]) if code == 0 else None

    def predict(self, config):
        for option in ("devices", "strategy", "auto_microbatch"):
            config["trainer"].pop(option, None)
        config["trainer"]["precision"] = "32-true"
        self.fit("fit", config)
        saved = run_folder(self.place / "fit") / "checkpoints" / "last.ckpt"
        if not saved.is_file():
            raise Refused("no checkpoint was saved")
        expected = self.predictions("predict", config, saved)
        batches, dp, held, program = (copy.deepcopy(config) for _ in range(4))
        batches["data"]["batch_size"] = self.dice.choice([1, 2, 5])
        dp["trainer"].update({"devices": 2, "strategy": "dp"})
        problems = [difference(expected, self.predictions("batches", batches, saved), 2e-5, "batches"),
                    difference(expected, self.predictions("dp", dp, saved), 2e-5, "dp")]
        if "weights" in self.options.get(config["model"]["class"], ()) and "adapter" not in config["model"]:
            held["model"]["weights"] = self.exported("weights", config, saved, "w.safetensors")
            problems.append(difference(expected, self.predictions("held", held), path="weights"))
        file = self.exported("export", config, saved, "m.pt2", "--inference")
        if file and config["model"]["class"] not in PROGRAM_OF_A_PART:
            program["model"] = {"class": "ProgramModule", "program": file}
            problems.append(difference(expected, self.predictions("program", program), 2e-5, "program"))
        return [one for one in problems if one]

    def check(self, config):
        code, said = self.levin.run(self.place, "check", config, ("config", "check"))
        fitted, output = self.levin.run(self.place, "fit", config)
        if code not in (0, 2):
            return [f"config check ended with {code}: {tail(said)}"]
        if code == 2 and fitted != 2:
            return [f"config check ended with {code}, fit with {fitted}: {tail(said)} / {tail(output)}"]
        if fitted not in (0, 2):
            return [f"fit ended with {fitted}: {tail(output)}"]
        if code == 2:
            raise Refused(tail(said))
        return []

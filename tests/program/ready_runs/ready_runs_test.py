"""Ready modules on their data, with drawn options: each run is compared with an oracle.

usage: ready_runs_test.py LEVIN [--cases N] [--seed S] [--only CASE...] [--relation R] [--jobs J]

  resume   a run that continues from the checkpoint of a drawn step ends as the unbroken one, to the bit
  ranks    two ranks end as one process with the batches of both, within 1e-9 in float64
  workers  samples that workers load train as those of the process itself, to the bit
  validate `levin validate` of a run's last checkpoint finds what the run's last validation logged
  places   ranks of ddp and of fsdp find in validation what one process finds
  check    what `config check` refuses, `fit` refuses, and all else it trains or refuses with a sentence

pairs.py draws the options of the trainer around one small module; here the modules and the data are the drawn part.
"""

import argparse
import concurrent.futures
import copy
import datetime
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "trainer" / "effects"))

import bases  # noqa: E402
from small_data import write_programs, write_small_data  # noqa: E402

# What draws on each rank, or divides among ranks otherwise than by samples.
NOT_WITH_RANKS = {"model": ("dropout",), "data": ("batch_transforms", "shuffle_buffer"), "trainer": ("auto_microbatch", "overfit_batches")}
SEE_THEIR_BATCH = ("SentenceEncoder", "FCOS")
TRAINER = {
    "accumulate_grad_batches": [2, 3], "gradient_clip_val": [0.5, 0.01], "gradient_clip_algorithm": ["value"],
    "precision": ["bf16-mixed", "64-true", "bf16-true"], "val_check_interval": [0.5, 1, 2], "limit_train_batches": [2, 3],
    "limit_val_batches": [1, 0], "num_sanity_val_steps": [1, 2], "log_every_n_steps": [2], "deterministic": [True],
    "max_steps": [4, 5], "check_val_every_n_epoch": [2], "reload_dataloaders_every_n_epochs": [1], "sync_batchnorm": [True],
    "inference_mode": [False], "detect_anomaly": [True], "random_generator": ["own", "default"],
    "overfit_batches": [2], "activation_checkpointing": [True], "auto_microbatch": [True], "keep_global_batch": [True],
    "profiler": ["simple"],
}
CALLBACKS = [
    {"class": "EMAWeightAveraging", "decay": 0.9}, {"class": "StochasticWeightAveraging", "swa_lrs": 0.01, "swa_epoch_start": 1},
    {"class": "LearningRateMonitor"}, {"class": "GradientAccumulationScheduler", "scheduling": {"1": 2}},
    {"class": "EarlyStopping", "monitor": "val_loss", "patience": 1}, {"class": "GradNormMonitor"}, {"class": "ThroughputMonitor"},
]
OPTIMIZERS = [{"class": "SGD", "lr": 0.05, "momentum": 0.9}, {"class": "AdamW", "lr": 0.01}, {"class": "AdamW", "lr": 0.01, "fused": True},
              {"class": "Adagrad", "lr": 0.01}, {"class": "NAdam", "lr": 0.01}, {"class": "Lion", "lr": 0.001}]
SCHEDULERS = [{"class": "StepLR", "step_size": 1, "gamma": 0.5}, {"class": "CosineAnnealingLR", "T_max": 3, "interval": "step"},
              {"class": "WarmupCosine", "warmup_steps": 2, "interval": "step"}, {"class": "ReduceLROnPlateau", "patience": 0}]
DATA = {"batch_size": [3, 8, 16], "shuffle": [False], "drop_last": [True], "num_workers": [1, 2], "group_by_length": ["input", "input_ids"],
        "prefetch_factor": [1], "seed": [7], "pack": [True], "shuffle_buffer": [5],
        "ranks_take": ["samples"], "stopping_strategy": ["all_exhausted", "all_exhausted_without_replacement"], "missing": ["mean"],
        "transforms": [[{"class": "RandomHorizontalFlip"}]], "batch_transforms": [[{"class": "Mixup", "num_classes": 10}]]}
MODEL = {"parameter_groups": [{"bias": {"weight_decay": 0.1}}, {"*weight": {"lr_factor": 0.5}}], "frozen": [["*.bias"]],
         "dropout": [0.2], "batch_norm": [True], "dice_weight": [0.5],
         "metrics": [["Accuracy"], [{"class": "FBetaScore", "beta": 0.5}], ["MeanSquaredError", {"class": "Running", "metric": "R2Score"}],
                     [{"class": "BootStrapper", "metric": "Accuracy", "num_bootstraps": 3}], ["AUROC"], ["Perplexity"]]}
ADAPTERS = [{"class": "LoRA", "rank": 2}, {"class": "LoRA", "rank": 2, "base": "nf4"}, {"class": "LoRA", "rank": 2, "dropout": 0.2},
            {"class": "LoRA", "rank": 2, "dora": True}]
RELATIONS = ("resume", "ranks", "workers", "validate", "places", "check")
# Of the machine, or of a rank.
TIMES = re.compile("seconds|_per_sec|_time|^DeviceStatsMonitor|mfu|^train/")
NAMED = re.compile(r"(trainer|model|data)\.(\w+)")


class Levin:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, place, name, config, command=("fit",), flags=()):
        """Exit code and output of a run in a folder of its own."""
        where = place / name
        where.mkdir(parents=True, exist_ok=True)
        (where / "given.json").write_text(json.dumps(config, indent=1))
        done = subprocess.run([self.program, *command, "--config", "given.json", *flags], cwd=where, capture_output=True,
                              text=True, errors="replace", timeout=300, env={**os.environ, "LEVIN_ALLOW_PYTHON": "1"})
        return done.returncode, done.stdout + done.stderr


def options_by_class(schema):
    return {name.split(".", 1)[1]: set(definition["properties"]) for name, definition in schema["definitions"].items()
            if name.startswith(("module.", "data_module.")) and "properties" in definition}


def drawn(dice, folder, options):
    """The kind of the relation, and a config."""
    kind, names = dice.choice([("module", sorted(bases.models(folder))), ("data_module", sorted(bases.data_modules(folder))),
                               ("objective", sorted(bases.OBJECTIVES))])
    config, _ = bases.base_of(kind, dice.choice(names), folder)
    config = copy.deepcopy(config)
    trainer, model, data = config["trainer"], config["model"], config["data"]
    trainer.update({"max_epochs": dice.choice([1, 2, 3]), "enable_progress_bar": False})
    for place, table, known in ((model, MODEL, options.get(model["class"], ())), (data, DATA, options.get(data["class"], ()))):
        for option, values in table.items():
            if option in known and dice.random() < 0.3:
                place[option] = copy.deepcopy(dice.choice(values))
    if "folder" in options.get(model["class"], ()) and dice.random() < 0.4:
        model["adapter"] = copy.deepcopy(dice.choice(ADAPTERS))
    for transform in data.get("batch_transforms", []):
        transform["num_classes"] = model.get("num_classes", 10)
    for option, values in TRAINER.items():
        if dice.random() < 0.2:
            trainer[option] = dice.choice(values)
    trainer["callbacks"] = [copy.deepcopy(one) for one in CALLBACKS if dice.random() < 0.2]
    if "optimizer" in options.get(model["class"], ()) and dice.random() < 0.7:
        model["optimizer"] = copy.deepcopy(dice.choice(OPTIMIZERS))
    if "lr_scheduler" in options.get(model["class"], ()) and dice.random() < 0.5:
        model["lr_scheduler"] = copy.deepcopy(dice.choice(SCHEDULERS))
    if dice.random() < 0.3:
        trainer.update({"devices": 2, "strategy": dice.choice(["ddp", "zero1", "fsdp"])})
    return dice.choice(["resume", "resume", *RELATIONS]), config


def adapter_under_fsdp(folder):
    """A validation under fsdp once computed without the adapters."""
    model, data = bases.models(folder)["CausalLM"]
    config = bases.config({"max_epochs": 1}, {**model, "adapter": {"class": "LoRA", "rank": 2}},
                          {**data, "val_files": [f"{folder}/lines/val.bin"]})
    return "places", {**config, "trainer": {**config["trainer"], "callbacks": []}}


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
    def __init__(self, levin, place, dice):
        self.levin, self.place, self.dice = levin, place, dice

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
        if config["model"]["class"] in SEE_THEIR_BATCH:
            raise Refused("the loss of a sample depends on the others of its batch")
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
        last = [(rows(self.place / name) or [{}])[-1] for name in ("one", "ranks")]
        problems.append(difference(*last, 1e-6, "last row"))
        return [one for one in problems if one]

    def workers(self, config):
        one, other = copy.deepcopy(config), copy.deepcopy(config)
        one["data"]["num_workers"] = 0
        other["data"]["num_workers"] = self.dice.choice([1, 2, 3])
        self.fit("none", one)
        self.fit("workers", other)
        problems = [difference(weights(self.place / "none"), weights(self.place / "workers"), path="weights")]
        if rows(self.place / "none") != rows(self.place / "workers"):
            problems.append("rows differ")
        return [one for one in problems if one]

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

    def places(self, config):
        for option in ("devices", "strategy", "auto_microbatch"):
            config["trainer"].pop(option, None)
        config["trainer"].update({"precision": "32-true", "limit_val_batches": 1.0})
        config["model"].pop("metrics", None)  # BootStrapper draws
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


def without_refused(config, said):
    """Removes an option that a refusal names; whether there is one."""
    said = said[said.rfind("error:"):]
    named = [(part, option) for part, option in NAMED.findall(said) if option in config[part] and option not in ("class", "batch_size")]
    if not named and "val_loss" in said:
        named = [("model", "lr_scheduler")] if "lr_scheduler" in said and "lr_scheduler" in config["model"] else []
        kept = [one for one in config["trainer"]["callbacks"] if one["class"] != "EarlyStopping"]
        if not named and len(kept) < len(config["trainer"]["callbacks"]):
            config["trainer"]["callbacks"] = kept
            return True
    if not named and "LoRA" in said and "adapter" in config["model"]:
        named = [("model", "adapter")]
    for part, option in named[:1]:
        del config[part][option]
    if "callbacks" not in config["trainer"]:
        config["trainer"]["callbacks"] = []
    return bool(named)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--cases", type=int, default=12)
    parser.add_argument("--seed", type=int, default=datetime.date.today().toordinal())
    parser.add_argument("--only", type=int, nargs="*")
    parser.add_argument("--relation", choices=RELATIONS)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    schema = json.loads(subprocess.run([given.program, "config", "schema"], capture_output=True, check=True).stdout)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="levin_ready_runs_"))
    (folder / "data").mkdir()
    write_small_data(folder / "data")
    programs = threading.Lock()
    options = options_by_class(schema)
    counts = {"equal": 0, "refused": 0, "differs": 0}

    def one(number):
        dice = random.Random(f"{given.seed} {number}")
        relation, config = drawn(dice, folder / "data", options) if number else adapter_under_fsdp(folder / "data")
        relation = given.relation or relation
        place = folder / str(number)
        with programs:
            if "/programs/" in json.dumps(config) and not (folder / "data" / "programs").exists():
                write_programs(folder / "data" / "programs")
        refusals = []
        while True:
            try:
                problems = getattr(Case(Levin(given.program, folder), place, dice), relation)(copy.deepcopy(config))
                outcome = "differs" if problems else "equal"
            except Refused as why:
                refusals.append(str(why))
                shutil.rmtree(place, ignore_errors=True)
                if without_refused(config, str(why)):
                    continue
                outcome, problems = "refused", refusals
            except Exception as error:
                outcome, problems = "differs", [f"{type(error).__name__}: {error}"]
            break
        if given.only is None:
            shutil.rmtree(place, ignore_errors=True)
        return number, relation, config, outcome, problems

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for number, relation, config, outcome, problems in pool.map(one, given.only or range(given.cases)):
            counts[outcome] += 1
            if outcome != "equal":
                print(f"case {number}, {relation}, {outcome}: {'; '.join(problems)}")
            if outcome == "differs":
                print(" ", json.dumps(config), flush=True)
    print(f"seed {given.seed}: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    if given.only is None:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print("folders:", folder)
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())

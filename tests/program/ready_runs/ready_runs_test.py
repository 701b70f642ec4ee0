"""Ready modules on their data, with drawn options: each run is compared with an oracle.

usage: ready_runs_test.py LEVIN [--cases N] [--seed S] [--only CASE...] [--relation R] [--jobs J]

  resume   a run that continues from the checkpoint of a drawn step ends as the unbroken one, to the bit
  ranks    two ranks end as one process with the batches of both, within 1e-9 in float64
  workers  samples that workers load train as those of the process itself, to the bit
  validate `levin validate` of a run's last checkpoint finds what the run's last validation logged
  places   ranks of ddp and of fsdp find in validation what one process finds
  again    a fit of the config that a run's folder holds ends with the run's bits
  predict  predictions of another batch size, of replicas, of exported weights and of an exported program are those of the checkpoint
  check    what `config check` refuses, `fit` refuses, and all else it trains or refuses with a sentence

pairs.py draws the options of the trainer around one small module; here the modules and the data are the drawn part.
"""

import argparse
import concurrent.futures
import copy
import datetime
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "trainer" / "effects"))

import bases  # noqa: E402
from relations import Case, Levin, Refused  # noqa: E402
from small_data import write_programs, write_small_data  # noqa: E402

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
        "ignore_index": [2], "transforms": [[{"class": "RandomHorizontalFlip"}]],
        "batch_transforms": [[{"class": "Mixup", "num_classes": 10}]]}
MODEL = {"parameter_groups": [{"bias": {"weight_decay": 0.1}}, {"*weight": {"lr_factor": 0.5}}], "frozen": [["*.bias"]],
         "dropout": [0.2], "batch_norm": [True], "dice_weight": [0.5], "cross_entropy_block_size": [5],
         "metrics": [["Accuracy"], [{"class": "FBetaScore", "beta": 0.5}], ["MeanSquaredError", {"class": "Running", "metric": "R2Score"}],
                     [{"class": "BootStrapper", "metric": "Accuracy", "num_bootstraps": 3}], ["AUROC"], ["Perplexity"]]}
ADAPTERS = [{"class": "LoRA", "rank": 2}, {"class": "LoRA", "rank": 2, "base": "nf4"}, {"class": "LoRA", "rank": 2, "dropout": 0.2},
            {"class": "LoRA", "rank": 2, "dora": True}]
RELATIONS = ("resume", "ranks", "workers", "validate", "places", "check", "again", "predict")
NAMED = re.compile(r"(trainer|model|data)\.(\w+)")


def options_by_class(schema):
    return {name.split(".", 1)[1]: set(definition["properties"]) for name, definition in schema["definitions"].items()
            if name.startswith(("module.", "data_module.")) and "properties" in definition}


def drawn(dice, folder, options):
    """The kind of the relation, and a config."""
    if dice.random() < 0.05:
        return dice.choice(RELATIONS), program_of_tokens(folder)
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


def program_of_tokens(folder):
    """A program whose targets do not all count, as texts have different lengths."""
    data, _ = bases.data_modules(folder)["TextJsonl"]
    model = {"class": "ProgramModule", "program": f"{folder}/programs/tokens.pt2"}
    config = bases.config({"max_epochs": 1}, model, {**data, "class": "TextJsonl", "batch_size": 8})
    return {**config, "trainer": {**config["trainer"], "callbacks": []}}


def adapter_under_fsdp(folder):
    """A validation under fsdp once computed without the adapters."""
    model, data = bases.models(folder)["CausalLM"]
    config = bases.config({"max_epochs": 1}, {**model, "adapter": {"class": "LoRA", "rank": 2}},
                          {**data, "val_files": [f"{folder}/lines/val.bin"]})
    return "places", {**config, "trainer": {**config["trainer"], "callbacks": []}}


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
                problems = getattr(Case(Levin(given.program), place, dice, options), relation)(copy.deepcopy(config))
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

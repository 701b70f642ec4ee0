"""Options that others leave without effect: `levin config check` says so for each, and only where it is so.

Usage: without_effect_test.py LEVIN
"""

import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

import bases

RESNET = {"net": "resnet18"}
RANKS = {"trainer": {"devices": 2}}


def callback(name, option, **options):
    return f"trainer.callbacks[0].{option}", {"trainer": {"callbacks": [{"class": name, **options}]}}


def transform(name, option, **options):
    data = {"class": "CIFAR10", "root": "images", "transforms": [{"class": name, **options}]}
    return f"data.transforms[0].{option}", {"data": data}


def optimizer(name, option, **options):
    return f"model.optimizer.{option}", {"model": {"optimizer": {"class": name, **options}}}


def scheduler(name, option, **options):
    return f"model.lr_scheduler.{option}", {"model": {"lr_scheduler": {"class": name, **options}}}


def table(option, **options):
    return f"data.{option}", {"data": {"class": "Csv", "file": "train.csv", **options}}


def images(option, **options):
    return f"data.{option}", {"data": {"class": "ImageFolder", "root": "FOLDER/divided", **options}}


# The option's path and the config around it; a value of the option; what must change so that the option has an effect.
CASES = [
    (("trainer.gradient_clip_algorithm", {}), "value", {"trainer": {"gradient_clip_val": 1}}),
    (("trainer.timeout_seconds", {}), 60, RANKS),
    (("trainer.find_unused_parameters", {}), True, RANKS),
    (("trainer.static_graph", {}), True, RANKS),
    (("trainer.bucket_cap_mb", {}), 1, RANKS),
    (("trainer.gradient_compression", {}), "bf16", RANKS),
    (("trainer.process_group_backend", {}), "mpi", RANKS),
    (("trainer.sync_batchnorm", {}), True, RANKS),
    (("trainer.use_distributed_sampler", {}), False, RANKS),
    (("trainer.replace_sampler_ddp", {}), False, RANKS),
    (("model.weights_strict", {}), False, {"model": {"weights": "a.pt"}}),
    (("model.weights_prefix", {}), "model.", {"model": {"weights": "a.pt"}}),
    (("model.hidden", {"model": {"net": "lenet"}}), 8, {"model": {"net": "mlp"}}),
    (("model.small_input", {}), True, {"model": RESNET}),
    (("data.prefetch_factor", {}), 4, {"data": {"num_workers": 2}}),
    (("data.timeout_seconds", {}), 4, {"data": {"num_workers": 2}}),
    (table("ignore", features=["left"]), ["right"], {"data": {"features": []}}),
    (table("split_seed"), 3, {"data": {"val_fraction": 0.5}}),
    (images("val_fraction"), 0.5, {"data": {"root": "FOLDER/whole"}}),
    (images("split_seed"), 3, {"data": {"root": "FOLDER/whole"}}),
    (images("resize_size", resize="exact"), 9, {"data": {"resize": "center_crop"}}),
    (("data.shuffle_buffer", {"data": {"class": "Tar", "shards": ["a.tar"], "shuffle": False}}), 9, {"data": {"shuffle": True}}),
    (optimizer("SGD", "dampening"), 0.5, {"model": {"optimizer": {"momentum": 0.9}}}),
    (optimizer("Adam", "decoupled_weight_decay"), True, {"model": {"optimizer": {"weight_decay": 0.1}}}),
    (optimizer("NAdam", "decoupled_weight_decay"), True, {"model": {"optimizer": {"weight_decay": 0.1}}}),
    (optimizer("RAdam", "decoupled_weight_decay"), True, {"model": {"optimizer": {"weight_decay": 0.1}}}),
    (scheduler("CyclicLR", "gamma", base_lr=0.1, max_lr=1), 0.5, {"model": {"lr_scheduler": {"mode": "exp_range"}}}),
    (scheduler("OneCycleLR", "base_momentum", max_lr=1, cycle_momentum=False), 0.5,
     {"model": {"lr_scheduler": {"cycle_momentum": True}}}),
    (scheduler("OneCycleLR", "epochs", max_lr=1, total_steps=9), 3, {"model": {"lr_scheduler": {"total_steps": "auto"}}}),
    (callback("BackboneFinetuning", "initial_denom_lr"), 5, None),
    (callback("ModelCheckpoint", "mode"), "max", callback("ModelCheckpoint", "", mode="max", monitor="val_loss")[1]),
    (callback("ModelPruning", "resample_parameters", pruning_fn="l1_unstructured", use_lottery_ticket_hypothesis=False), True, None),
    (callback("StochasticWeightAveraging", "annealing_strategy", swa_lrs=0.1, annealing_epochs=0), "linear", None),
    (transform("RandomErasing", "value", random_value=True), 0.5, None),
    (transform("RandomCrop", "fill", size=4, padding_mode="edge"), 3, None),
    (transform("Resize", "antialias", size=4, interpolation="nearest"), False, None),
]


def with_option(config, path, value):
    keys = path.replace("[0]", ".0").split(".")
    place = config
    for key in keys[:-1]:
        place = place[0] if key == "0" else place.setdefault(key, {})
    place[keys[-1]] = value
    return config


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("divided/train", "divided/val", "whole/ants"):
            (pathlib.Path(folder) / name).mkdir(parents=True)

        def says(number, config, path):
            file = pathlib.Path(folder) / f"{number}.json"
            file.write_text(json.dumps(config).replace("FOLDER", folder))
            done = subprocess.run([program, "config", "check", "--config", file], capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                return f"refused: {done.stderr}"
            return any(line.startswith(f"levin: warning: {path} (") and " has no effect: " in line for line in done.stderr.splitlines())

        def check(numbered):
            number, ((path, around), value, remedy) = numbered
            config = with_option(bases.merged({"model": {"class": "ImageClassifier"}, "data": {"class": "SyntheticDigits"},
                                               "trainer": {"accelerator": "cpu"}}, around), path, value)
            found = says(f"{number}a", config, path)
            if found is not True:
                return f"{path} = {json.dumps(value)}: expected a warning, got {found}"
            if remedy is not None:
                found = says(f"{number}b", bases.merged(config, remedy), path)
                if found is not False:
                    return f"{path} = {json.dumps(value)} with {json.dumps(remedy)}: expected no warning, got {found}"
            return None

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            failed = [error for error in pool.map(check, enumerate(CASES)) if error]
    print(f"{len(CASES)} options that others leave without effect, {len(failed)} failed", *failed, sep="\n  ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

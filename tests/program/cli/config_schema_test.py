"""config_schema_test.py PROGRAM CONFIGS: the JSON Schema that `levin config schema` prints judges configs as levin does."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

try:
    import jsonschema
except ImportError:
    print("SKIPPED: this Python has no jsonschema (scripts/setup --tests installs it)")
    sys.exit(77)

program, configs = sys.argv[1:]
environment = {name: value for name, value in os.environ.items() if not name.startswith("LEVIN__")}


def levin(*arguments):
    return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, check=False)


def accepted_by_levin(config):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.json"
        path.write_text(json.dumps(config))
        run = levin("config", "check", "--config", str(path))
    assert run.returncode in (0, 2), run.stderr
    return run.returncode == 0


def model(**options):
    return {"model": {"class": "ImageClassifier", **options}}


right = [
    {"model": "ImageClassifier"},
    {"$schema": "levin.schema.json", **model()},
    {"seed": 3, "name": "x", **model(), "data": "SyntheticDigits"},
    {**model(), "trainer": {"max_epochs": None, "seed": 1, "callbacks": []}},
    {**model(), "trainer": {"devices": "auto", "precision": 32, "limit_val_batches": 3, "val_check_interval": 0.5}},
    {**model(), "trainer": {"max_time": {"hours": 1}, "fast_dev_run": True, "gpus": ""}},
    {**model(), "trainer": {"max_time": "00:01:00:00", "fast_dev_run": 2, "gradient_clip_algorithm": "value"}},
    model(optimizer="SGD", lr_scheduler=None),
    model(optimizer={"lr": 0.5, "betas": [0.5, 0.75]}),
    model(optimizer={"class": "SGD", "lr": 0, "momentum": 0.5}),
    model(lr_scheduler={"class": "OneCycleLR", "max_lr": 0.1, "total_steps": "auto", "interval": "step"}),
    {**model(), "trainer": {"max_epochs": "${trainer.log_every_n_steps}"}},
    {"name": "run_${seed}", "seed": 1, **model(optimizer={"class": "AdamW", "lr": "${seed}"})},
]
wrong = [
    {},
    [],
    {"trainr": {}, **model()},
    {"trainer": 3, **model()},
    {"trainer": {"max_epoch": 1}, **model()},
    {"trainer": {"max_epochs": "many"}, **model()},
    {"trainer": {"max_epochs": -3}, **model()},
    {"trainer": {"barebones": 1}, **model()},
    {"trainer": {"strategy": "dpp"}, **model()},
    {"trainer": {"precision": 17}, **model()},
    {"trainer": {"devices": "two"}, **model()},
    {"trainer": {"limit_val_batches": -1}, **model()},
    {"trainer": {"val_check_interval": 0}, **model()},
    {"trainer": {"max_time": {"hour": 1}}, **model()},
    {"trainer": {"callbacks": 3}, **model()},
    {"trainer": {"callbacks": ["Nope"]}, **model()},
    {"seed": -1, **model()},
    {"name": 7, **model()},
    {"model": "Nothing"},
    {"model": {"net": "mlp"}},
    {"model": {"class": "ImageClasifier"}},
    model(nett="mlp"),
    model(optimizer="Addam"),
    model(optimizer={"lr": "fast"}),
    model(optimizer={"momentum": 0.5}),
    model(optimizer={"class": "SGD", "betas": [0.5, 0.75]}),
    model(optimizer={"class": "AdamW", "betas": [0.5, 1.0]}),
    model(lr_scheduler={"class": "OneCycleLR", "max_lr": 0.1, "total_steps": "some"}),
    {**model(), "data": {"class": "SyntheticDigits", "batch_size": 0}},
]

schema = json.loads(levin("config", "schema").stdout)
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)

files = sorted(pathlib.Path(configs).glob("*.json"))
assert files
failures = 0
for path in files:
    run = levin("config", "show", "--config", str(path))
    assert run.returncode == 0, run.stderr
    for config in (json.loads(path.read_text()), json.loads(run.stdout)):
        for error in validator.iter_errors(config):
            print(f"{path.name}: {error.json_path}: {error.message}")
            failures += 1
with ThreadPoolExecutor(os.cpu_count()) as pool:
    for config, accepted in zip(right, pool.map(accepted_by_levin, right)):
        if not accepted:
            print(f"levin refuses {json.dumps(config)}")
            failures += 1
for expected, cases in ((True, right), (False, wrong)):
    for config in cases:
        if validator.is_valid(config) != expected:
            print(f"the schema {'refuses' if expected else 'takes'} {json.dumps(config)}")
            failures += 1
print(f"{len(files)} files, {len(right)} right and {len(wrong)} wrong configs, {failures} failures")
sys.exit(failures != 0)

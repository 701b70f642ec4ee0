"""Trains each config of this folder under levin and under PyTorch Lightning, from the same weights, and compares.

Usage: python parity_test.py LEVIN_PROGRAM WRITE_MNIST [STEPS]
Compared after 60 steps: weights and losses within 1e-6, learning rates within 1e-12. With STEPS the runs are so long and
the weights may differ by twice the distance between PyTorch's own plain and fused (or foreach) optimizer. Configs with a
precision keep their steps and have tolerances of their own; accuracies are within 0.5 %.
Data: mnist10k of the folder that LEVIN_TEST_DATA names, or synthetic digits. Exits 77 (skipped) without lightning.
"""
import importlib.util, json, os, pathlib, subprocess, sys, tempfile

os.environ["OMP_NUM_THREADS"] = "1"
LOSS_TOLERANCE, RATE_TOLERANCE, WEIGHT_TOLERANCE = 1e-6, 1e-12, 1e-6
# Weights, then losses.
TOLERANCES = {"bf16-mixed": (1e-3, 1e-2), "64-true": (1e-12, 1e-12)}
ACCURACY_TOLERANCE = 0.005
here = pathlib.Path(__file__).parent


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} exited {done.returncode}:\n{done.stdout}\n{done.stderr}")


def lightning(config, out, *changes):
    """PyTorch Lightning's run, in this process: to import it takes longer than the run."""
    sys.argv = ["lightning_run.py", str(config), str(out), *changes]
    import lightning_run

    lightning_run.main()
    return json.load(open(out / "trace.json"))


def weights(path):
    import torch

    return torch.load(path, map_location="cpu", weights_only=True)


def distance(a, b):
    assert list(a) == list(b), (list(a), list(b))
    return max((a[key].double() - b[key].double()).abs().max().item() for key in a)


def mnist_folder(write_mnist, folder):
    given = os.environ.get("LEVIN_TEST_DATA")
    if given and (pathlib.Path(given) / "mnist10k").is_dir():
        return pathlib.Path(given) / "mnist10k"
    run(write_mnist, folder / "mnist", 8000, 200)
    return folder / "mnist"


def worst_difference(name, ours, theirs):
    if len(ours) != len(theirs) or not ours:
        sys.exit(f"{name}: {len(ours)} values under levin, {len(theirs)} under PyTorch Lightning")
    return max(abs(a - b) for a, b in zip(ours, theirs))


def compare_traces(name, folder, trace, window):
    """Losses and rates of each step, and the metrics of each validation; returns the largest differences."""
    rows = [json.loads(line) for line in open(folder / "metrics.jsonl")]
    steps = [row for row in rows if "train_loss" in row]
    rate = next(key for key in steps[0] if key.startswith("lr-"))
    loss = worst_difference(f"{name}: losses", [row["train_loss"] for row in steps], trace["loss"][window - 1 :: window])
    lr = worst_difference(f"{name}: rates", [row[rate] for row in steps], trace["lr"][window - 1 :: window])
    validations = [row for row in rows if "val_loss" in row]
    accuracy = 0
    if trace["val"]:
        of = lambda key: worst_difference(f"{name}: {key}", [row[key] for row in validations], [row[key] for row in trace["val"]])
        loss, accuracy = max(loss, of("val_loss")), of("val_acc")
    return loss, lr, accuracy


def compare(config, levin, data, folder, steps):
    name = config.stem
    wanted = json.load(open(config))
    precision = wanted["trainer"].get("precision")
    if precision:
        steps = wanted["trainer"]["max_steps"]
    val_batches = wanted["trainer"].get("limit_val_batches", 2)
    initial, theirs = folder / f"{name}.pt", folder / f"{name}_lightning"
    changes = [f"data.root={data}", f"model.weights={initial}", f"trainer.limit_val_batches={val_batches}", f"trainer.max_steps={steps}"]
    # Whole windows in whole epochs: PyTorch Lightning counts the samples of a short one wrongly.
    batches = wanted["trainer"].get("limit_train_batches", 240)
    changes.append(f"trainer.limit_train_batches={batches}")
    trace = lightning(config, theirs, *changes)
    run(levin, "fit", "--config", config, "--data.root", data, "--model.weights", initial, "--limit-val-batches", val_batches,
        "--max-steps", steps, "--limit-train-batches", batches, "--num-sanity-val-steps", 0, "--log-every-n-steps", 1,
        "--enable-model-summary", "false",
        "--callbacks", '[{"class": "LearningRateMonitor"}]', "--default-root-dir", folder / "runs", "--name", name)
    ours = folder / "runs" / name / "version_0"
    loss, lr, accuracy = compare_traces(name, ours, trace, wanted["trainer"].get("accumulate_grad_batches", 1))
    a, b = weights(ours / "weights.pt"), weights(theirs / "final.pt")
    difference = distance(a, b)
    equal = sum(bool((a[key] == b[key]).all()) for key in a)
    allowed, allowed_loss = TOLERANCES.get(precision, (WEIGHT_TOLERANCE, LOSS_TOLERANCE))
    if steps > 60:
        kind = "fused" if wanted["model"]["optimizer"]["class"] in ("Adam", "AdamW", "SGD", "Adagrad") else "foreach"
        own = folder / f"{name}_own"
        lightning(config, own, *changes, f"model.optimizer.{kind}=true")
        allowed = max(2 * distance(weights(own / "final.pt"), b), 1e-10)
    print(f"{name}: weights {difference:.1e} (allowed {allowed:.1e}; {equal} of {len(a)} tensors equal bit for bit), "
          f"losses {loss:.1e}, accuracies {accuracy:.1e}, rates {lr:.1e}", flush=True)
    if distance(a, weights(initial)) <= WEIGHT_TOLERANCE:
        sys.exit(f"{name}: the weights did not move, so that the comparison says nothing")
    equal_losses = loss <= allowed_loss and accuracy <= ACCURACY_TOLERANCE
    return difference <= allowed and lr <= RATE_TOLERANCE and (equal_losses or steps > 60)


def main():
    if importlib.util.find_spec("lightning") is None:
        print("skipped: this Python has no lightning")
        sys.exit(77)
    levin, write_mnist = sys.argv[1:3]
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    sys.path.insert(0, str(here))
    configs = sorted(path for path in here.glob("*.json") if path.name != "lightning_hooks.json")
    assert len(configs) == 16, configs
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        data = mnist_folder(write_mnist, folder)
        far = [config.stem for config in configs if not compare(config, levin, data, folder, steps)]
    if far:
        sys.exit(f"too far apart: {', '.join(far)}")


if __name__ == "__main__":
    main()

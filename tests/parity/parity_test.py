"""Trains each config of this folder under levin and under PyTorch Lightning, from the same weights, and compares.

Usage: python parity_test.py LEVIN_PROGRAM WRITE_MNIST
Data: mnist10k of the folder that LEVIN_TEST_DATA names, or synthetic digits. Exits 77 (skipped) without lightning.
"""
import importlib.util, os, pathlib, subprocess, sys, tempfile

TOLERANCE = "1e-6"
here = pathlib.Path(__file__).parent


def run(*command):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} exited {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def mnist_folder(write_mnist, folder):
    given = os.environ.get("LEVIN_TEST_DATA")
    if given and (pathlib.Path(given) / "mnist10k").is_dir():
        return pathlib.Path(given) / "mnist10k"
    run(write_mnist, folder / "mnist", 8000, 200)
    return folder / "mnist"


def compare(config, levin, data, folder):
    initial, theirs = folder / f"{config.stem}.pt", folder / f"{config.stem}_lightning"
    run(sys.executable, here / "lightning_run.py", config, theirs, f"data.root={data}", f"model.weights={initial}",
        "trainer.limit_val_batches=2")
    run(levin, "fit", "--config", config, "--data.root", data, "--model.weights", initial, "--limit-val-batches", 2,
        "--num-sanity-val-steps", 0, "--default-root-dir", folder / "runs", "--name", config.stem)
    ours = folder / "runs" / config.stem / "version_0" / "weights.pt"
    print(config.stem, run(sys.executable, here / "compare_weights.py", ours, theirs / "final.pt", TOLERANCE), end="")
    before = subprocess.run([sys.executable, str(here / "compare_weights.py"), str(ours), str(initial), TOLERANCE])
    if before.returncode == 0:
        sys.exit(f"{config.stem}: the weights did not move, so that the comparison says nothing")


def main():
    if importlib.util.find_spec("lightning") is None:
        print("skipped: this Python has no lightning")
        sys.exit(77)
    levin, write_mnist = sys.argv[1:]
    configs = sorted(path for path in here.glob("*.json") if path.name != "lightning_hooks.json")
    assert len(configs) >= 3, configs
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        data = mnist_folder(write_mnist, folder)
        for config in configs:
            compare(config, levin, data, folder)


main()

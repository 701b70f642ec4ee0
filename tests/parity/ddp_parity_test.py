"""Two ranks of levin's ddp against two of PyTorch Lightning's, from the same weights and on the same samples.

Usage: python ddp_parity_test.py LEVIN_PROGRAM WRITE_MNIST
Compared after 60 SGD steps: weights within 1e-5. PyTorch Lightning's rank r takes samples r, r + 2, ...; levin's takes the
r-th half of the same 64. Data and skipping: as parity_test.py.
"""
import json, os, pathlib, sys, tempfile

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here))
CONFIGS = ("sgd_mlp", "sgd_nesterov_lenet_step_lr_by_epoch")
RANK = "DDP_PARITY_RANK"  # in the environment of a rank of PyTorch Lightning
TOLERANCE = 1e-5


def lightning():
    """A rank, started by PyTorch Lightning as this script again; its own sampler would shuffle what is not to be."""
    import torch.utils.data.distributed as distributed

    init = distributed.DistributedSampler.__init__
    distributed.DistributedSampler.__init__ = lambda self, *args, **named: init(self, *args, **{**named, "shuffle": False})
    import lightning_run

    lightning_run.main()


def compare(name, levin, data, folder):
    import parity_test

    config, initial, theirs = here / f"{name}.json", folder / f"{name}.pt", folder / f"{name}_lightning"
    batches = json.load(open(config))["trainer"].get("limit_train_batches", 120)
    shared = [f"data.root={data}", f"model.weights={initial}", f"trainer.limit_train_batches={batches}", "trainer.max_steps=60"]
    # The weights are written first by one process.
    parity_test.run(sys.executable, here / "lightning_run.py", config, folder / "one", *shared, "trainer.max_steps=1")
    parity_test.run("env", f"{RANK}=1", sys.executable, __file__, config, theirs, *shared, "trainer.devices=2", "trainer.strategy=ddp")
    parity_test.run(levin, "fit", "--config", config, "--data.root", data, "--model.weights", initial, "--max-steps", 60,
                    "--limit-train-batches", batches, "--limit-val-batches", 0, "--num-sanity-val-steps", 0, "--devices", 2,
                    "--accelerator", "cpu", "--default-root-dir", folder / "runs", "--name", name)
    a = parity_test.weights(folder / "runs" / name / "version_0" / "weights.pt")
    difference = parity_test.distance(a, parity_test.weights(theirs / "final.pt"))
    print(f"{name}: weights {difference:.1e}", flush=True)
    if parity_test.distance(a, parity_test.weights(initial)) <= TOLERANCE:
        sys.exit(f"{name}: the weights did not move, so that the comparison says nothing")
    return difference <= TOLERANCE


def main():
    import parity_test

    if parity_test.importlib.util.find_spec("lightning") is None:
        print("skipped: this Python has no lightning")
        sys.exit(77)
    levin, write_mnist = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        data = parity_test.mnist_folder(write_mnist, folder)
        failed = [name for name in CONFIGS if not compare(name, levin, data, folder)]
    if failed:
        sys.exit(f"different from PyTorch Lightning: {', '.join(failed)}")


if __name__ == "__main__":
    lightning() if RANK in os.environ else main()

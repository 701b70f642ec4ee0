"""levin and PyTorch Lightning read each other's checkpoints, and go on from them.

Usage: python lightning_checkpoint_test.py LEVIN_PROGRAM WRITE_MNIST PARITY_FOLDER
For SGD with momentum, Adam and AdamW, and for SGD in 16-mixed with its scaler: both train two epochs; each also goes on
after the first epoch from its own checkpoint and from the other's. Exits 77 (skipped) without lightning.
"""
import importlib.util, json, os, pathlib, subprocess, sys, tempfile, warnings

os.environ["OMP_NUM_THREADS"] = "1"
TOLERANCE = 1e-6
OPTIMIZERS = {
    "sgd": {"class": "SGD", "lr": 0.05, "momentum": 0.9},
    "adam": {"class": "Adam", "lr": 0.002},
    "adamw": {"class": "AdamW", "lr": 0.002, "weight_decay": 0.1},
}
BATCHES, ACCUMULATE = 40, 2
PRECISIONS = {"sgd_16_mixed": "16-mixed"}
OPTIMIZERS["sgd_16_mixed"] = OPTIMIZERS["sgd"]


def config_of(optimizer, data, initial, precision):
    return {
        "seed": 1,
        "trainer": {"max_epochs": 2, "limit_train_batches": BATCHES, "limit_val_batches": 2,
                    "accumulate_grad_batches": ACCUMULATE, "num_sanity_val_steps": 0, "precision": precision,
                    "enable_progress_bar": False, "enable_model_summary": False},
        "model": {"class": "ImageClassifier", "net": "mlp", "weights": str(initial), "optimizer": optimizer,
                  "lr_scheduler": {"class": "StepLR", "step_size": 1, "gamma": 0.5}},
        "data": {"class": "MNIST", "root": str(data), "batch_size": 32, "shuffle": False},
    }


def levin_fit(levin, config, root, *flags):
    done = subprocess.run([levin, "fit", "--config", str(config), "--default-root-dir", str(root), "--name", "run", *flags],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"levin fit {flags} exited {done.returncode}:\n{done.stderr}")


def lightning_fit(lightning_run, config, epochs, ckpt_path=None, save_to=None):
    import lightning.pytorch as pl, torch

    torch.manual_seed(0)
    model = lightning_run.ImageClassifier(config["model"])
    model.load_state_dict(torch.load(config["model"]["weights"], weights_only=True))
    loader = lambda split: torch.utils.data.DataLoader(lightning_run.mnist(config["data"]["root"], split), 32)
    keep = {key: config["trainer"][key] for key in ("limit_train_batches", "limit_val_batches", "num_sanity_val_steps",
                                                       "accumulate_grad_batches")}
    callbacks = [pl.callbacks.ModelCheckpoint(dirpath=save_to, filename="{epoch}", save_top_k=-1)] if save_to else []
    # As an option, 16-mixed on the CPU becomes bf16-mixed there.
    if config["trainer"]["precision"] == "16-mixed":
        keep["plugins"] = [pl.plugins.precision.MixedPrecision("16-mixed", "cpu")]
    trainer = pl.Trainer(accelerator="cpu", devices=1, logger=False, max_epochs=epochs, enable_progress_bar=False,
                         enable_model_summary=False, enable_checkpointing=bool(save_to), callbacks=callbacks, **keep)
    trainer.fit(model, loader("train"), loader("val"), ckpt_path=ckpt_path and str(ckpt_path))
    return model, trainer


def distance(a, b):
    assert list(a) == list(b), (list(a), list(b))
    return max((a[key].double() - b[key].double()).abs().max().item() for key in a)


def check(name, a, b):
    difference = distance(a, b)
    print(f"{name}: {difference:.1e}", flush=True)
    if difference > TOLERANCE:
        sys.exit(f"{name}: the weights are {difference} apart")


def compare(name, optimizer, levin, lightning_run, data, folder):
    import torch

    initial, config_file = folder / "initial.pt", folder / "config.json"
    torch.manual_seed(0)
    torch.save(lightning_run.ImageClassifier({"net": "mlp"}).state_dict(), initial)
    config = config_of(optimizer, data, initial, PRECISIONS.get(name, "32-true"))
    config_file.write_text(json.dumps(config))
    read = lambda path: torch.load(path, weights_only=True, mmap=True)

    levin_fit(levin, config_file, folder / "ours", "--callbacks",
              json.dumps([{"class": "ModelCheckpoint", "filename": "{epoch}", "save_top_k": -1}]))
    ours = folder / "ours" / "run" / "version_0"
    lightning_fit(lightning_run, config, 2, save_to=folder / "theirs")
    after_first = {"levin": ours / "checkpoints" / "epoch=0.ckpt", "lightning": folder / "theirs" / "epoch=0.ckpt"}
    ended = read(folder / "theirs" / "epoch=1.ckpt")["state_dict"]

    ours_first, theirs_first = read(after_first["levin"]), read(after_first["lightning"])
    for key in theirs_first:
        assert key in ours_first or key in ("hparams_name", "hyper_parameters"), f"levin's checkpoint lacks {key}"
    for key in "epoch", "global_step", "pytorch-lightning_version":
        assert ours_first[key] == theirs_first[key], (key, ours_first[key], theirs_first[key])
    check(f"{name}, both train", read(ours / "weights.pt"), ended)

    assert ("MixedPrecision" in ours_first) == (name in PRECISIONS), ours_first.keys()
    if name in PRECISIONS:
        assert ours_first["MixedPrecision"] == theirs_first["MixedPrecision"], (ours_first, theirs_first)

    # PyTorch Lightning loads ours.
    loaded = lightning_run.ImageClassifier.load_from_checkpoint(after_first["levin"], cfg=config["model"], weights_only=True)
    check(f"{name}, load_from_checkpoint", loaded.state_dict(), ours_first["state_dict"])
    own, trainer = lightning_fit(lightning_run, config, 2, ckpt_path=after_first["lightning"])
    check(f"{name}, lightning goes on from its own", own.state_dict(), ended)
    model, trainer = lightning_fit(lightning_run, config, 2, ckpt_path=after_first["levin"])
    assert trainer.global_step == 2 * BATCHES // ACCUMULATE and trainer.current_epoch == 2, (trainer.global_step, trainer.current_epoch)
    check(f"{name}, lightning goes on from levin's", model.state_dict(), ended)
    assert trainer.optimizers[0].param_groups[0]["lr"] == optimizer["lr"] * 0.25, trainer.optimizers[0].param_groups[0]["lr"]

    for writer, file in after_first.items():
        levin_fit(levin, config_file, folder / f"from_{writer}", "--ckpt-path", str(file))
        run = folder / f"from_{writer}" / "run" / "version_0"
        check(f"{name}, levin goes on from {writer}'s", read(run / "weights.pt"), ended)
        summary = json.load(open(run / "summary.json"))
        assert summary["global_step"] == 2 * BATCHES // ACCUMULATE and summary["epochs"] == 2, summary


def main():
    if importlib.util.find_spec("lightning") is None:
        print("skipped: this Python has no lightning")
        sys.exit(77)
    warnings.filterwarnings("ignore")
    levin, write_mnist, parity = sys.argv[1:4]
    sys.path.insert(0, parity)
    import lightning_run

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([write_mnist, folder / "mnist", "1600", "128"], check=True)
        for name, optimizer in OPTIMIZERS.items():
            (folder / name).mkdir()
            compare(name, optimizer, levin, lightning_run, folder / "mnist", folder / name)


main()

"""What levin and PyTorch Lightning do with a short last accumulation window, a schedule under accumulation, clipping by norm, and
a resume in mid-epoch, measured on a linear model beside a loop by hand: python beside_lightning.py LEVIN

Prints the figures of docs/beside_others.md. Needs torch, lightning and numpy. With --check it fails if levin differs from the loop by
hand, or Lightning from what the page says of it.
"""
import json, logging, pathlib, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import numpy as np, torch, lightning.pytorch as pl

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
BATCH, SAMPLES, WINDOW = 4, 20, 2  # five batches in an epoch: two windows of two batches and one of one
DRAWN = torch.Generator().manual_seed(1)
X, Y = torch.randn(SAMPLES, 3, generator=DRAWN), torch.randn(SAMPLES, 2, generator=DRAWN)


def linear():
    torch.manual_seed(0)
    return torch.nn.Linear(3, 2)


def flat(state):
    return torch.cat([tensor.flatten() for name, tensor in sorted(state.items())])


class Module(pl.LightningModule):
    def __init__(self, lr, gamma):
        super().__init__()
        self.net, self.lr, self.gamma, self.rates, self.seen = linear(), lr, gamma, [], []

    def training_step(self, batch, _):
        x, y, index = batch
        self.seen.append(index.tolist())
        return torch.nn.functional.mse_loss(self.net(x), y)

    def on_before_optimizer_step(self, optimizer):
        self.rates.append(optimizer.param_groups[0]["lr"])

    def configure_optimizers(self):
        sgd = torch.optim.SGD(self.parameters(), lr=self.lr)
        schedule = torch.optim.lr_scheduler.StepLR(sgd, 1, self.gamma)
        return {"optimizer": sgd, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def by_lightning(folder, lr=0.1, gamma=1.0, shuffle=False, ckpt_path=None, callbacks=(), **options):
    pl.seed_everything(7)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y, torch.arange(SAMPLES)), BATCH, shuffle=shuffle)
    module = Module(lr, gamma)
    options = {"max_epochs": 1, **options}
    trainer = pl.Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
                         enable_checkpointing=bool(callbacks), callbacks=list(callbacks), **options)
    trainer.fit(module, loader, ckpt_path=ckpt_path)
    return flat(module.net.state_dict()), module.rates, module.seen


def by_levin(folder, lr=0.1, gamma=1.0, shuffle=False, ckpt_path=None, **options):
    folder.mkdir(exist_ok=True)
    np.save(folder / "x.npy", X.numpy())
    np.save(folder / "y.npy", Y.numpy())
    batch = torch.export.Dim("batch", min=2)
    torch.export.save(torch.export.export(linear(), (X[:BATCH],), dynamic_shapes=({0: batch},)), folder / "net.pt2")
    config = {"seed": 7, "name": "run",
              "trainer": {"accelerator": "cpu", "default_root_dir": str(folder), "log_every_n_steps": 1, "max_epochs": 1,
                          "enable_progress_bar": False, "callbacks": ["LearningRateMonitor"], **options},
              "model": {"class": "ProgramModule", "program": str(folder / "net.pt2"), "loss": "mse_loss", "optimizer": {"class": "SGD", "lr": lr},
                        "lr_scheduler": {"class": "StepLR", "step_size": 1, "gamma": gamma, "interval": "step"}},
              "data": {"class": "Npy", "input": str(folder / "x.npy"), "target": str(folder / "y.npy"), "batch_size": BATCH, "shuffle": shuffle}}
    (folder / "config.json").write_text(json.dumps(config))
    words = ["--ckpt-path", str(ckpt_path)] if ckpt_path else []
    done = subprocess.run([sys.argv[1], "fit", "--config", str(folder / "config.json"), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    run = folder / "run" / "version_0"
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    rates = [row["lr-SGD"] for row in rows if "lr-SGD" in row]
    return flat(torch.load(run / "weights.pt")), rates, rows


def by_hand(lr=0.1, gamma=1.0, max_norm=None, window=WINDOW):
    """The mean over all samples of each window, a schedule that counts optimizer steps, the norm of all gradients together."""
    net = linear()
    for begin in range(0, SAMPLES, BATCH * window):
        loss = torch.nn.functional.mse_loss(net(X[begin : begin + BATCH * window]), Y[begin : begin + BATCH * window])
        net.zero_grad()
        loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm)
        with torch.no_grad():
            for parameter in net.parameters():
                parameter -= lr * parameter.grad
        lr *= gamma
    return flat(net.state_dict())


def distance(a, b):
    return float((a - b).abs().max())


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        facts = {}
        hand = by_hand()
        lightning, levin = by_lightning(folder / "a", accumulate_grad_batches=WINDOW), by_levin(folder / "b", accumulate_grad_batches=WINDOW)
        facts["short last window: largest difference of a weight from the mean over the window's samples"] = (
            distance(lightning[0], hand), distance(levin[0], hand))
        lightning = by_lightning(folder / "c", gamma=0.5, accumulate_grad_batches=WINDOW)
        levin = by_levin(folder / "d", gamma=0.5, accumulate_grad_batches=WINDOW)
        facts["schedule: learning rates of the optimizer's steps"] = (lightning[1], levin[1])
        lightning, levin = by_lightning(folder / "e", gradient_clip_val=0.01), by_levin(folder / "f", gradient_clip_val=0.01)
        hand = by_hand(max_norm=0.01, window=1)
        facts["clipping: largest difference of a weight from the norm of all gradients together"] = (
            distance(lightning[0], hand), distance(levin[0], hand))

        saves = pl.callbacks.ModelCheckpoint(folder / "g", every_n_train_steps=3, save_top_k=-1, filename="{step}")
        whole = by_lightning(folder / "g", shuffle=True, max_epochs=2, callbacks=[saves])
        resumed = by_lightning(folder / "h", shuffle=True, max_epochs=2, ckpt_path=folder / "g" / "step=3.ckpt")
        seen = [sorted(sum(resumed[2][:2], sum(whole[2][:3], []))) == list(range(SAMPLES))]
        callbacks = [{"class": "ModelCheckpoint", "every_n_train_steps": 3, "save_top_k": -1, "filename": "{step}"}, "LearningRateMonitor"]
        unbroken = by_levin(folder / "i", shuffle=True, max_epochs=2, callbacks=callbacks)
        (checkpoint,) = (folder / "i" / "run" / "version_0" / "checkpoints").glob("step=3.ckpt")
        again = by_levin(folder / "j", shuffle=True, max_epochs=2, ckpt_path=checkpoint)
        facts["resume after batch 3 of 5, shuffled: largest difference of a weight from the unbroken run at the end"] = (
            distance(whole[0], resumed[0]), distance(unbroken[0], again[0]))
        facts["resume: each sample once in the epoch that was cut"] = (seen[0], torch.equal(unbroken[0], again[0]))
        print(f"PyTorch Lightning {pl.__version__}, torch {torch.__version__}")
        for what, (of_lightning, of_levin) in facts.items():
            print(f"{what}\n  Lightning {of_lightning}\n  levin     {of_levin}")
        if "--check" not in sys.argv:
            return
        (window, rates, clipping, resume, once) = facts.values()
        assert window[0] > 1e-2 and window[1] < 1e-6, window
        assert rates[0] == [0.1, 0.05, 0.025] and np.allclose(rates[0], rates[1]), rates
        assert max(clipping) < 1e-6, clipping
        assert resume[0] > 1e-3 and resume[1] == 0 and once == (False, True), (resume, once)


if __name__ == "__main__":
    main()

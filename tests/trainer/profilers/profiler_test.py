"""The actions that levin's simple profiler and PyTorch Lightning's SimpleProfiler both have are the same, with the same numbers of calls.

Usage: python profiler_test.py PROFILED_PROGRAM.
"""
import contextlib, io, json, logging, pathlib, subprocess, sys, tempfile, warnings

import torch
from lightning import pytorch as pl
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
for name in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def loss_of(self, batch):
        with self.trainer.profiler.profile("loss"):
            return torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])

    def training_step(self, batch, batch_idx):
        loss = self.loss_of(batch)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self.loss_of(batch))

    def test_step(self, batch, batch_idx):
        self.log("test_loss", self.loss_of(batch))

    def predict_step(self, batch, batch_idx):
        return self.layer(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), 0.1)
        return {"optimizer": optimizer,
                "lr_scheduler": {"scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9), "interval": "step"}}


def by_lightning(call, options, folder):
    profiler = pl.profilers.SimpleProfiler()
    callbacks = [pl.callbacks.EarlyStopping("val_loss", patience=100), 
                 pl.callbacks.ModelCheckpoint(monitor="val_loss", save_top_k=-1)]
    options = {key: value for key, value in options.items() if key not in ("quiet", "name", "profiler")}
    if options.pop("enable_checkpointing", True) is False:
        callbacks.pop()
        options["enable_checkpointing"] = False
    options["default_root_dir"] = folder
    trainer = pl.Trainer(profiler=profiler, callbacks=callbacks, logger=pl.loggers.CSVLogger(folder), **options)
    loader = DataLoader(TensorDataset(torch.randn(20, 4), torch.randn(20, 1)), batch_size=4)
    arguments = [loader, loader] if call == "fit" else [loader]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        getattr(trainer, call)(Net(), *arguments)
    return {action: len(durations) for action, durations in profiler.recorded_durations.items()}


def by_levin(call, options):
    done = subprocess.run([sys.argv[1], call, json.dumps({**options, "profiler": "simple", "quiet": True})],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


MODULE = "[LightningModule]Net."
STRATEGY = "[Strategy]SingleDeviceStrategy."
# Of these neither side may lack one.
SHARED = {
    "fit": ["run_training_epoch", "run_training_batch", "[_TrainingEpochLoop].train_dataloader_next", "[_EvaluationLoop].val_next",
            "save_checkpoint", "loss", *[MODULE + name for name in (
                "configure_callbacks", "configure_optimizers", "optimizer_step", "optimizer_zero_grad", "configure_gradient_clipping",
                "lr_scheduler_step", "on_validation_model_eval", "on_validation_model_zero_grad", "on_train_epoch_end",
                "on_train_batch_start", "on_before_optimizer_step", "on_validation_epoch_start", "on_after_batch_transfer")],
            *[STRATEGY + name for name in ("training_step", "backward", "validation_step", "batch_to_device")],
            "[Callback]EarlyStopping{'monitor': 'val_loss', 'mode': 'min'}.on_validation_end"],
    "validate": ["[_EvaluationLoop].val_next", MODULE + "on_validation_model_eval", STRATEGY + "validation_step", "loss"],
    "test": ["[_EvaluationLoop].test_next", MODULE + "on_test_model_eval", MODULE + "on_test_end", STRATEGY + "test_step", "loss"],
    "predict": ["[_PredictionLoop].predict_next", MODULE + "on_predict_model_eval", MODULE + "on_predict_batch_end",
                STRATEGY + "predict_step"],
}
# Lightning evaluates in a loop that calls the hook also where levin has none to call, and the other way round.
CASES = [
    ("fit", {"max_epochs": 2, "accumulate_grad_batches": 2, "gradient_clip_val": 1.0, "log_every_n_steps": 1}),
    ("fit", {"max_epochs": 3, "val_check_interval": 2, "num_sanity_val_steps": 0}),
    ("fit", {"max_steps": 7, "limit_val_batches": 3, "check_val_every_n_epoch": 1, "num_sanity_val_steps": 1}),
    ("validate", {}), ("test", {"limit_test_batches": 2}), ("predict", {}),
]
for call, changed in CASES:
    with tempfile.TemporaryDirectory() as folder:
        options = {"accelerator": "cpu", "enable_progress_bar": False, "enable_model_summary": False, "default_root_dir": folder,
                   **changed}
        theirs = by_lightning(call, options, folder)
        ours = by_levin(call, options)
    both = sorted(set(ours) & set(theirs))
    missing = [action for action in SHARED[call] if action not in both]
    assert not missing, (call, changed, missing, sorted(ours), sorted(theirs))
    different = {action: (ours[action], theirs[action]) for action in both if ours[action] != theirs[action]}
    assert not different, (call, changed, different)
    # What levin alone has is levin's own: a name in Lightning's style that Lightning does not have would be a mistake.
    own = [action for action in set(ours) - set(theirs) if action.startswith(("[LightningModule]", "[_", "[Callback]"))]
    assert not own, (call, changed, own)
    print(f"{call} {json.dumps(changed)}: {len(both)} actions with the same numbers of calls")

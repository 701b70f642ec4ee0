"""Trains a small network under PyTorch Lightning with one of its callbacks, for each case.

Usage: python lightning_reference.py callbacks CASES FOLDER
CASES: a JSON list of {"callback": {"class": ..., options}, "epochs", "accumulate", "head_only", "gamma", "pruned"}.
FOLDER has first_<case>.pt, the first weights, and data.pt, {"input", "target"}, in batches of 8; it receives
last_<case>.pt, the weights after the fit. Prints the rates of the parameter groups in each batch, for each case. Exits 77
without lightning.
"""
import importlib.util, json, logging, sys, warnings

if importlib.util.find_spec("lightning") is None:
    sys.exit(77)
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
import lightning.pytorch as pl, torch
from torch import nn


class Net(pl.LightningModule):
    def __init__(self, case):
        super().__init__()
        self.case, self.rates = case, []
        self.backbone = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh())
        self.head = nn.Linear(8, 1)

    def training_step(self, batch, batch_idx):
        self.rates.append([group["lr"] for group in self.trainer.optimizers[0].param_groups])
        return nn.functional.mse_loss(self.head(self.backbone(batch[0])), batch[1])

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", nn.functional.mse_loss(self.head(self.backbone(batch[0])), batch[1]))

    def configure_optimizers(self):
        part = self.head if self.case.get("head_only") else self
        optimizer = torch.optim.SGD(part.parameters(), lr=0.05, momentum=0.9)
        if "gamma" not in self.case:
            return optimizer
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, self.case["gamma"])]


def train(case, folder, number):
    net = Net(case)
    net.load_state_dict(torch.load(f"{folder}/first_{number}.pt", weights_only=True))
    data = torch.load(f"{folder}/data.pt", weights_only=True)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data["input"], data["target"]), batch_size=8)
    options = {key: value for key, value in case["callback"].items() if key != "class"}
    if "pruned" in case:
        options["parameters_to_prune"] = [(net.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2])
                                          for name in case["pruned"]]
    callback = getattr(pl.callbacks, case["callback"]["class"])(**options)
    trainer = pl.Trainer(accelerator="cpu", devices=1, max_epochs=case["epochs"], callbacks=[callback], logger=False,
                         accumulate_grad_batches=case.get("accumulate", 1), enable_checkpointing=False,
                         num_sanity_val_steps=0, enable_progress_bar=False, enable_model_summary=False)
    # The validation refreshes what pruning looks at: the weights of the last forward pass.
    trainer.fit(net, loader, loader)
    state = net.state_dict()
    if case["callback"]["class"] == "StochasticWeightAveraging":
        # Lightning 2.6 ends the extra epoch with an optimizer step by the gradients of the epoch before.
        assert trainer.global_step % case["epochs"] == 1, trainer.global_step
        state |= dict(callback._average_model.named_parameters())
    torch.save(state, f"{folder}/last_{number}.pt")
    return net.rates


torch.set_num_threads(1)
print(json.dumps([train(case, sys.argv[3], number) for number, case in enumerate(json.loads(sys.argv[2]))]))

"""The architectures that are exported by torch.export: how each is made, its batches, its loss and its optimizer."""

import dataclasses
from typing import Callable

import torch

import generative
import published
import science
import sequence
import vision

SGD = {"class": "SGD", "lr": 0.02, "momentum": 0.9}
ADAM = {"class": "Adam", "lr": 1e-3}


@dataclasses.dataclass
class Architecture:
    make: Callable  # the module
    batch: Callable  # (count) -> {name of forward's parameter: tensor, "target": tensor}
    loss: str = "cross_entropy"  # or "output": the module returns it
    optimizer: dict = dataclasses.field(default_factory=lambda: SGD)
    quick: bool = False  # CI trains it


def images(channels, size, classes=10):
    return lambda n: {"input": torch.randn(n, channels, size, size), "target": torch.randint(classes, (n,))}


def words(count=40, length=16, classes=None):
    """Words, and the word after each (or a class for all)."""

    def batch(n):
        text = torch.randint(1, count, (n, length + 1))
        return {"input": text[:, :-1].contiguous(),
                "target": text[:, 1:].contiguous() if classes is None else torch.randint(classes, (n,))}

    return batch


def bert_batch(n):
    batch = words(classes=5)(n)
    length = torch.randint(4, 17, (n, 1))
    mask = torch.arange(16)[None] < length
    return {"input": batch["input"] * mask, "mask": mask.long(), "segment": (torch.arange(16)[None] > length // 2).long(),
            "target": batch["target"]}


def graph_batch(n):
    return {"input": torch.randn(n, 12, 8), "edges": torch.randint(12, (n, 2, 30)), "target": torch.randint(4, (n, 12))}


def diffusion_batch(n):
    return {"input": torch.randn(n, 1, 16, 16), "time": torch.randint(1000, (n,)), "target": torch.randn(n, 1, 16, 16)}


def set_batch(n):
    mask = (torch.rand(n, 10) > 0.3).float()
    x = torch.randn(n, 10, 4)
    return {"input": x, "mask": mask, "target": (x.sum(-1) * mask).sum(1, keepdim=True).tanh()}


def siren_batch(n):
    x = torch.rand(n, 2) * 2 - 1
    return {"input": x, "target": torch.sin(5 * x[:, :1]) * x[:, 1:]}


def pictures(n):
    x = torch.rand(n, 1, 28, 28)
    return {"input": x, "target": x}


def numbers(shape, target, classes=None):
    def batch(n):
        y = torch.randn(n, *target) if classes is None else torch.randint(classes, (n, *target))
        return {"input": torch.randn(n, *shape), "target": y}

    return batch


ARCHITECTURES = {
    "mlp": Architecture(vision.MLP, images(1, 28), quick=True),
    "lenet": Architecture(vision.LeNet, images(1, 28), optimizer=ADAM),
    "resnet18": Architecture(lambda: vision.ResNet((2, 2, 2, 2)), images(3, 32), quick=True),
    "resnet50": Architecture(lambda: vision.ResNet((3, 4, 6, 3), bottleneck=True), images(3, 32)),
    "mobilenet_v3": Architecture(vision.MobileNetV3, images(3, 32)),
    "efficientnet": Architecture(vision.EfficientNet, images(3, 32), optimizer=ADAM),
    "convnext": Architecture(vision.ConvNeXt, images(3, 32), optimizer=ADAM),
    "vit": Architecture(vision.ViT, images(3, 32), optimizer=ADAM, quick=True),
    "swin": Architecture(vision.Swin, images(3, 32), optimizer=ADAM),
    "densenet": Architecture(vision.DenseNet, images(3, 32)),
    "unet": Architecture(generative.UNet, numbers((3, 32, 32), (32, 32), 4)),
    "dcgan_generator": Architecture(generative.DCGANGenerator, numbers((16,), (3, 32, 32)), "mse_loss", ADAM),
    "dcgan_discriminator": Architecture(generative.DCGANDiscriminator, lambda n: {
        "input": torch.randn(n, 3, 32, 32), "target": torch.randint(2, (n,)).float()}, "binary_cross_entropy_with_logits", ADAM),
    "lstm": Architecture(sequence.LSTMClassifier, words(50, 12, 5), quick=True),
    "gru": Architecture(sequence.GRUClassifier, numbers((12, 6), (), 5), optimizer=ADAM),
    "gpt": Architecture(sequence.GPT, words(), optimizer=ADAM, quick=True),
    "llama": Architecture(sequence.Llama, words(), optimizer=ADAM),
    "bert": Architecture(sequence.BERT, bert_batch, optimizer=ADAM),
    "mlp_mixer": Architecture(vision.MLPMixer, images(3, 32)),
    "autoencoder": Architecture(generative.Autoencoder, pictures, "mse_loss", ADAM),
    "vae": Architecture(generative.VAE, pictures, "output", ADAM, quick=True),
    "pointnet": Architecture(science.PointNet, numbers((3, 40), (), 5), "nll_loss"),
    "gcn": Architecture(science.GCN, graph_batch, quick=True),
    "fno": Architecture(science.FNO, numbers((1, 16, 16), (1, 16, 16)), "mse_loss", ADAM),
    "siren": Architecture(science.SIREN, siren_batch, "mse_loss", ADAM),
    "deep_sets": Architecture(science.DeepSets, set_batch, "mse_loss"),
    "wavenet": Architecture(sequence.WaveNet, words(32, 32), optimizer=ADAM),
    "diffusion_unet": Architecture(generative.DiffusionUNet, diffusion_batch, "mse_loss", ADAM),
    "lora": Architecture(sequence.LoRAGPT, words(), optimizer=ADAM),
    "tied_embeddings": Architecture(sequence.TiedLanguageModel, words()),
    "batch_norm_3d": Architecture(science.Volumes, numbers((1, 8, 8, 8), (), 5)),
    "tcn": Architecture(sequence.TCN, numbers((3, 20), (), 5), quick=True),
}


PUBLISHED = {name: Architecture(make, images(3, size)) for name, (make, size) in published.networks().items()}
ARCHITECTURES |= PUBLISHED  # these are for --full, or by name


def inputs_of(batch):
    return {name: value for name, value in batch.items() if name != "target"}


def module_of(name):
    """The architecture with the weights of seed 0."""
    torch.manual_seed(0)
    return ARCHITECTURES[name].make()


def exported(name, training=True):
    """The program, for batches of 2 to 4096 samples."""
    module = module_of(name).train(training)
    torch.manual_seed(1)
    inputs = inputs_of(ARCHITECTURES[name].batch(8))
    rows = torch.export.Dim("batch", min=2, max=4096)
    return torch.export.export(module, (), inputs, dynamic_shapes={key: {0: rows} for key in inputs})

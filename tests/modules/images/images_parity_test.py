"""PretrainedImageClassifier against transformers and timm: logits, gradients, training, and folders that each reads.

usage: images_parity_test.py PROGRAM FOLDER [CASE...]
"""

import json
import math
import os
import pathlib
import shutil
import sys

import torchvision_stub

try:
    import torch
    import transformers
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

from PIL import Image
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "transformers"))
from parity_check import Check, compare_all
from small_networks import CASES, FOREIGN, PROCESSORS, TIMM, class_of, make_network, make_processor, make_timm_network, sizes_of

try:
    torchvision_stub.install()
    import timm
    from timm.models._hub import save_for_hf
except ImportError as error:
    print(f"without timm: {error}")
    timm = None

MOST_LEVELS = 1.01  # of 255, that pixels are off; the resampling of bytes rounds after each direction
STEPS = int(os.environ.get("LEVIN_IMAGE_STEPS", "50"))
# One of each family; the gradients of all are compared.
TRAINED = {"vit", "deit", "resnet", "convnext", "convnextv2", "mobilenet_v1", "mobilenet_v2", "timm_resnet18", "timm_vit",
           "timm_convnext_atto", "timm_mobilenetv3_small"}


RESIZED = {"vit", "deit", "timm_vit"}  # networks with a table of positions


class FileNames:
    """The names that tensors have in files: transformers renames some of them when it writes."""

    def __init__(self, model, folder):
        written = load_file(folder / "model.safetensors")
        places = {(tensor.shape, tensor.numpy().tobytes()): name for name, tensor in written.items()}
        self.names = {}
        for name, tensor in model.state_dict().items():
            same = name in written and torch.equal(written[name], tensor)
            self.names[name] = name if same else places[(tensor.shape, tensor.numpy().tobytes())]

    def __getitem__(self, name):
        return self.names[name]


def logits_of(model, images):
    output = model(images)
    return output if isinstance(output, torch.Tensor) else output.logits


def loss_of(model, images, target):
    return torch.nn.functional.cross_entropy(logits_of(model, images), target)


def fresh(name, folder):
    """Reads the folder as its library does."""
    if name in TIMM:
        return timm.create_model(f"local-dir:{folder}", pretrained=True)
    return class_of(CASES[name][0]).from_pretrained(folder)


def inputs_for(name, seed):
    random = torch.Generator().manual_seed(seed)
    data = {"images": torch.randn(4, *sizes_of(name), generator=random),
            "target": torch.randint(3, (4,), generator=random)}
    if name in RESIZED:
        data["larger_images"] = torch.randn(2, 3, 48, 40, generator=random)
        data["smaller_images"] = torch.randn(2, 3, 16, 24, generator=random)
    if name in TRAINED:
        data["train_images"] = torch.randn(STEPS, 4, *sizes_of(name), generator=random)
        data["train_target"] = torch.randint(3, (STEPS, 4), generator=random)
    return data


def check_inference(check, data, got):
    model = fresh(check.name, check.folder / "model").eval()
    names = FileNames(model, check.folder / "model")
    with torch.no_grad():
        expected = logits_of(model, data["images"])
    check.close("logits", got["logits"], expected)
    check.close("channels_last_logits", got["channels_last_logits"], expected)
    loss_of(model, data["images"], data["target"]).backward()
    used = [(name, parameter.grad) for name, parameter in model.named_parameters() if parameter.grad is not None]
    largest = float(max(grad.abs().max() for _, grad in used))
    for name, grad in used:
        check.close(f"gradient.{names[name]}", got[f"gradient.{names[name]}"], grad, least=largest * 1e-2)
    check.holds("has other parameters", {f"gradient.{names[name]}" for name, _ in used} ==
                {name for name in got if name.startswith("gradient.")})


def check_resized(check, data, got):
    """Images of other sizes, for which the table of positions is resized."""
    if check.name in TIMM:
        model = timm.create_model(f"local-dir:{check.folder / 'model'}", pretrained=True, dynamic_img_size=True).eval()
    else:
        model = fresh(check.name, check.folder / "model").eval()
    more = {} if check.name in TIMM else {"interpolate_pos_encoding": True}
    with torch.no_grad():
        for size in ("larger", "smaller"):
            output = model(data[f"{size}_images"], **more)
            check.close(f"{size}_logits", got[f"{size}_logits"], output if isinstance(output, torch.Tensor) else output.logits)
    check.holds("images of the network's own size have other logits", torch.equal(got["same_logits"], got["logits"]))


def check_training(check, data, got):
    model = fresh(check.name, check.folder / "model")
    names = FileNames(model, check.folder / "model")
    model.double().train()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, foreach=False)
    losses = []
    for images, target in zip(data["train_images"].double(), data["train_target"], strict=True):
        optimizer.zero_grad()
        loss = loss_of(model, images, target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    check.close("losses", got["losses"], torch.tensor(losses, dtype=torch.float64))
    check.holds("learned nothing", losses[-1] != losses[0])
    for key, value in model.state_dict().items():
        check.close(f"trained.{names[key]}", got[f"trained.{names[key]}"], value)


def check_folders(check, data, _got):
    model, saved = check.folder / "model", check.folder / "saved"
    check.holds("saved other bytes of weights",
                (model / "model.safetensors").read_bytes() == (saved / "model.safetensors").read_bytes())
    before, after = ((folder / "config.json").read_text() for folder in (model, saved))
    if check.name in TIMM or check.name in FOREIGN:
        check.holds("saved another config.json", json.loads(before) == json.loads(after))
    else:
        check.holds("saved another config.json", before == after)
    with torch.no_grad():
        logits = [logits_of(fresh(check.name, folder).eval(), data["images"]) for folder in (model, saved)]
    check.holds("the library computes other logits with what was saved", torch.equal(*logits))


def photo(number, width, height):
    """A picture with edges and slopes."""
    image = Image.new("RGB", (width, height))
    image.putdata([(int(127 + 120 * math.sin(x / (2 + number))), (x * y) % 256, 255 * ((x // 5 + y // 7) % 2))
                   for y in range(height) for x in range(width)])
    return image


def write_photos(name, folder):
    (folder / "photos" / "one").mkdir(parents=True)
    processor = make_processor(name)
    # Pillow 13 resizes the side first that shrinks more, and rounds between; ATen takes the width first, as Pillow did before.
    overshoots = processor.resample == 3 and not processor.size.shortest_edge
    for number, (width, height) in enumerate(((60, 40), (48, 48), (480, 400), *(() if overshoots else ((40, 60),)))):
        photo(number, width, height).save(folder / "photos" / "one" / f"{number}.png")
    processor.save_pretrained(folder)


def check_photos(check, _data, got):
    processor = make_processor(check.name)
    images = [Image.open(file).convert("RGB") for file in sorted((check.folder / "photos" / "one").iterdir())]
    expected = torch.stack([torch.as_tensor(processor(image, return_tensors="pt")["pixel_values"][0]) for image in images])
    check.holds("other sizes", got["photos"].shape == expected.shape)
    if got["photos"].shape == expected.shape:
        levels = (got["photos"] - expected).abs() * torch.tensor(processor.image_std).view(3, 1, 1) * 255
        check.worst["levels"] = float(levels.max())
        check.holds(f"pixels are off by {float(levels.max()):.2f} levels", float(levels.max()) <= MOST_LEVELS)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    names = sys.argv[3:] or [*CASES, *(TIMM if timm else ()), *PROCESSORS]
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    shutil.rmtree(folder, ignore_errors=True)
    data = {}
    for number, name in enumerate(names):
        if name in PROCESSORS:
            write_photos(name, folder / name)
            continue
        place = folder / name / "model"
        place.mkdir(parents=True)
        if name in TIMM:
            save_for_hf(make_timm_network(name, seed=number), place, safe_serialization=True)
        else:
            make_network(name, seed=number).save_pretrained(place)
        data[name] = inputs_for(name, seed=1000 + number)
        save_file(data[name], folder / name / "inputs.safetensors")

    def parts_of(check):
        parts = [check_photos] if check.name in PROCESSORS else [check_inference, check_folders]
        return parts + ([check_training] if check.name in TRAINED else []) + ([check_resized] if check.name in RESIZED else [])

    compare_all(program, [Check(name, folder / name) for name in names], data, parts_of,
                lambda line: line and not line.startswith("[W"))


main()

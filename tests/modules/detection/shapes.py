"""Draws images with coloured shapes, and their boxes in COCO's format."""

import json
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from trainer.effects.small_data import png  # noqa: E402

KINDS = {"disc": (220, 60, 50), "square": (60, 200, 70), "cross": (70, 90, 230)}


def mask_of(kind, size):
    y, x = numpy.mgrid[:size, :size] + 0.5 - size / 2
    if kind == "disc":
        return x * x + y * y <= size * size / 4
    if kind == "square":
        return numpy.ones((size, size), bool)
    return (abs(x) <= size / 5) | (abs(y) <= size / 5)


def draw(generator, height, width, kinds):
    """Returns an image of noise with one to three shapes, and (kind, x, y, size) of each."""
    image = generator.integers(0, 90, (height, width, 3)).astype(numpy.uint8)
    shapes = []
    for _ in range(generator.integers(1, 4)):
        size = int(generator.integers(min(height, width) // 6, min(height, width) // 2))
        x, y = int(generator.integers(0, width - size + 1)), int(generator.integers(0, height - size + 1))
        if any(abs(x - a) < size + s and abs(y - b) < size + s for _, a, b, s in shapes):
            continue
        kind = int(generator.integers(0, len(kinds)))
        colour = numpy.array(KINDS[kinds[kind]]) + generator.integers(-30, 31, 3)
        image[y:y + size, x:x + size][mask_of(kinds[kind], size)] = colour.clip(0, 255)
        shapes.append((kind, x, y, size))
    return image, shapes


def write_shapes(folder, name, count, seed, height=64, width=64, kinds=tuple(KINDS)):
    """Writes FOLDER/NAME/*.png and FOLDER/annotations/instances_NAME.json. Returns the images and their shapes."""
    generator = numpy.random.default_rng(seed)
    (folder / name).mkdir(parents=True)
    (folder / "annotations").mkdir(exist_ok=True)
    drawn = [draw(generator, height, width, kinds) for _ in range(count)]
    annotations = []
    for i, (image, shapes) in enumerate(drawn):
        (folder / name / f"{i:04}.png").write_bytes(png(image))
        for kind, x, y, size in shapes:
            annotations.append({"id": len(annotations) + 1, "image_id": 100 + i, "category_id": 10 * (kind + 1),
                                "bbox": [x, y, size, size], "area": size * size, "iscrowd": 0})
    (folder / "annotations" / f"instances_{name}.json").write_text(json.dumps({
        "images": [{"id": 100 + i, "file_name": f"{i:04}.png", "height": height, "width": width} for i in range(count)],
        "categories": [{"id": 10 * (i + 1), "name": kind} for i, kind in enumerate(kinds)],
        "annotations": annotations}))
    return drawn


if __name__ == "__main__":
    write_shapes(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))

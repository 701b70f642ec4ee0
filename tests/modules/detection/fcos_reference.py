"""FCOS by hand: the network that levin's FCOS has, with its names of parameters, the loss image by image and location by
location, and the choice of boxes."""

import math

import torch
from torch import nn
from torch.nn import functional


def blocks(inputs, outputs, stride=1):
    return [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.GroupNorm(8, outputs), nn.ReLU()]


class Network(nn.Module):
    def __init__(self, num_classes, width=32, channels=64, first_stride=8, levels=3, head_layers=2):
        super().__init__()
        self.first_stride, self.levels, self.num_classes = first_stride, levels, num_classes
        stages = int(math.log2(first_stride)) + levels - 1
        widths = [min(width * 2**i, 8 * width) for i in range(stages)]
        self.backbone = nn.ModuleList()
        for i, out in enumerate(widths):
            more = [] if i == 0 else blocks(out, out)
            self.backbone.append(nn.Sequential(*blocks(3 if i == 0 else widths[i - 1], out, 2), *more))
        self.lateral = nn.ModuleList([nn.Conv2d(w, channels, 1) for w in widths[-levels:]])
        self.smooth = nn.ModuleList([nn.Conv2d(channels, channels, 3, 1, 1) for _ in range(levels)])
        self.class_tower = nn.Sequential(*[m for _ in range(head_layers) for m in blocks(channels, channels)])
        self.box_tower = nn.Sequential(*[m for _ in range(head_layers) for m in blocks(channels, channels)])
        self.class_output = nn.Conv2d(channels, num_classes, 3, 1, 1)
        self.box_output = nn.Conv2d(channels, 4, 3, 1, 1)
        self.centerness_output = nn.Conv2d(channels, 1, 3, 1, 1)
        self.scales = nn.Parameter(torch.ones(levels))
        for output in (self.class_output, self.box_output, self.centerness_output):
            nn.init.normal_(output.weight, 0, 0.01)
            nn.init.zeros_(output.bias)
        nn.init.constant_(self.class_output.bias, -math.log(99))

    def forward(self, images):
        """Returns logits, boxes and logits of the centerness at all locations, and (x, y, stride) of each."""
        features, x = [], images
        for stage in self.backbone:
            x = stage(x)
            features.append(x)
        features = features[-self.levels:]
        maps, above = [None] * self.levels, None
        for level in reversed(range(self.levels)):
            merged = self.lateral[level](features[level])
            if above is not None:
                merged = merged + functional.interpolate(above, size=merged.shape[2:], mode="nearest")
            above = merged
            maps[level] = self.smooth[level](merged)
        classes, boxes, centerness, points = [], [], [], []
        for level, one in enumerate(maps):
            stride = self.first_stride * 2**level
            batch, _, height, width = one.shape
            tower = self.box_tower(one)
            classes.append(self.class_output(self.class_tower(one)).permute(0, 2, 3, 1).reshape(batch, -1, self.num_classes))
            sides = self.box_output(tower).permute(0, 2, 3, 1).reshape(batch, -1, 4)
            sides = (sides * self.scales[level]).clamp(max=10).exp() * stride
            place = torch.tensor([((x + 0.5) * stride, (y + 0.5) * stride, stride) for y in range(height) for x in range(width)])
            boxes.append(torch.cat([place[:, :2] - sides[..., :2], place[:, :2] + sides[..., 2:]], -1))
            centerness.append(self.centerness_output(tower).permute(0, 2, 3, 1).reshape(batch, -1))
            points.append(place)
        return torch.cat(classes, 1), torch.cat(boxes, 1), torch.cat(centerness, 1), torch.cat(points)


def target_of(x, y, stride, is_first, is_last, boxes):
    """Returns which of the boxes (x1, y1, x2, y2, label) a location learns."""
    best = None
    for i, (x1, y1, x2, y2, _) in enumerate(boxes):
        sides = (x - x1, y - y1, x2 - x, y2 - y)
        near = abs(x - (x1 + x2) / 2) < 1.5 * stride and abs(y - (y1 + y2) / 2) < 1.5 * stride
        reached = (is_first or max(sides) > 4 * stride) and (is_last or max(sides) <= 8 * stride)
        area = (x2 - x1) * (y2 - y1)
        if min(sides) > 0 and near and reached and (best is None or area < best[0]):
            best = (area, i)
    return None if best is None else best[1]


def giou(a, b):
    both = (torch.minimum(a[2], b[2]) - torch.maximum(a[0], b[0])).clamp(min=0) * (
        torch.minimum(a[3], b[3]) - torch.maximum(a[1], b[1])).clamp(min=0)
    either = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both
    hull = (torch.maximum(a[2], b[2]) - torch.minimum(a[0], b[0])) * (torch.maximum(a[3], b[3]) - torch.minimum(a[1], b[1]))
    return both / either - (hull - either) / hull


def losses(network, images, objects):
    """Returns the losses of classes, boxes and centerness; `objects` are lists of (x1, y1, x2, y2, label)."""
    classes, boxes, centerness, points = network(images)
    first, last = network.first_stride, network.first_stride * 2 ** (network.levels - 1)
    target = torch.zeros_like(classes)
    found = []
    for i, own in enumerate(objects):
        for k, (x, y, stride) in enumerate(points.tolist()):
            place = target_of(x, y, stride, stride == first, stride == last, own)
            if place is None:
                continue
            x1, y1, x2, y2, label = own[place]
            across, down = (x - x1, x2 - x), (y - y1, y2 - y)
            middle = math.sqrt(min(across) / max(across) * min(down) / max(down))
            target[i, k, label] = 1
            found.append((i, k, torch.tensor([x1, y1, x2, y2], dtype=boxes.dtype), middle))
    count = max(len(found), 1)
    p = classes.sigmoid()
    positive = -0.25 * (1 - p) ** 2 * functional.logsigmoid(classes)
    negative = -0.75 * p**2 * functional.logsigmoid(-classes)
    class_loss = torch.where(target == 1, positive, negative).sum() / count
    if not found:
        return class_loss, boxes.sum() * 0, centerness.sum() * 0
    place = ([f[0] for f in found], [f[1] for f in found])
    middle = torch.tensor([f[3] for f in found], dtype=boxes.dtype)
    box_loss = ((1 - giou(boxes[place].T, torch.stack([f[2] for f in found]).T)) * middle).sum() / middle.sum()
    logits = centerness[place]
    center_loss = -(middle * functional.logsigmoid(logits) + (1 - middle) * functional.logsigmoid(-logits)).sum() / count
    return class_loss, box_loss, center_loss


def detect(network, images, score_threshold=0.05, nms_threshold=0.6, most=100):
    """Returns lists of (score, label, box) for each image, by falling score."""
    from coco_reference import iou

    with torch.no_grad():
        classes, boxes, centerness, _ = network(images)
        scores = (classes.sigmoid() * centerness.sigmoid().unsqueeze(2)).sqrt()
    height, width = images.shape[2:]
    results = []
    for i in range(len(images)):
        likely = sorted(((s, *divmod(k, network.num_classes)) for k, s in enumerate(scores[i].flatten().tolist()) if s > score_threshold),
                        key=lambda one: -one[0])[:1000]
        kept = []
        for score, place, label in likely:
            x1, y1, x2, y2 = boxes[i, place].tolist()
            x1, x2, y1, y2 = min(max(x1, 0), width), min(max(x2, 0), width), min(max(y1, 0), height), min(max(y2, 0), height)
            box = [x1, y1, x2 - x1, y2 - y1]
            if all(other != label or iou(box, known, False) <= nms_threshold for _, other, known in kept):
                kept.append((score, label, box))
            if len(kept) == most:
                break
        results.append(kept)
    return results

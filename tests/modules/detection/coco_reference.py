"""COCO's scores of detected boxes, computed slowly and in another way than levin does: the values of torchmetrics'
MeanAveragePrecision by name. Where pycocotools can be imported, its scores must be the same."""

import numpy

AREAS = {"": (0, 1e10), "_small": (0, 32**2), "_medium": (32**2, 96**2), "_large": (96**2, 1e10)}


def spaced(first, last, count):
    """Evenly spaced numbers as torchmetrics makes them: torch.linspace in float32."""
    import torch

    return numpy.array(torch.linspace(first, last, count).tolist())


def iou(detection, target, crowd):
    x1, y1 = max(detection[0], target[0]), max(detection[1], target[1])
    x2 = min(detection[0] + detection[2], target[0] + target[2])
    y2 = min(detection[1] + detection[3], target[1] + target[3])
    if x2 - x1 <= 0 or y2 - y1 <= 0:
        return 0.0
    both, own = (x2 - x1) * (y2 - y1), detection[2] * detection[3]
    return both / (own if crowd else own + target[2] * target[3] - both)


def match(detections, targets, threshold, area, most):
    """Returns (score, hit, ignored) of one image's detections of one class, and how many targets count."""
    counts = [not t["crowd"] and area[0] <= t["area"] <= area[1] for t in targets]
    order = numpy.argsort([-d["score"] for d in detections], kind="stable")[:most]
    free, found = set(range(len(targets))), []
    for d in (detections[i] for i in order):
        ious = [iou(d["box"], t["box"], t["crowd"]) for t in targets]
        best = None
        for wanted in (True, False):
            choice = [i for i in range(len(targets)) if counts[i] == wanted and (i in free or targets[i]["crowd"])]
            choice = [i for i in choice if ious[i] >= min(threshold, 1 - 1e-10)]
            if choice and best is None:
                best = max(choice, key=lambda i: (ious[i], i))
        if best is not None:
            free.discard(best)
            found.append((d["score"], counts[best], not counts[best]))
        else:
            size = d["box"][2] * d["box"][3]
            found.append((d["score"], False, not area[0] <= size <= area[1]))
    return found, sum(counts)


known = {}  # what was computed, with the images that it is of


def scores_of_class(images, *criteria):
    """Returns the mean precision and the recall of a label, IoU, area and number of detections; None if no target counts."""
    key = (id(images), *criteria)
    if key not in known:
        known[key] = images, computed_scores(images, *criteria)
    return known[key][1]


def computed_scores(images, label, threshold, area, most, recalls):
    found, total = [], 0
    for detections, targets in images:
        one, number = match([d for d in detections if d["label"] == label],
                            [t for t in targets if t["label"] == label], threshold, area, most)
        found += one
        total += number
    if total == 0:
        return None
    found = [found[i] for i in numpy.argsort([-f[0] for f in found], kind="stable")] if found else []
    hits = misses = 0
    curve = []
    for _, hit, ignored in found:
        hits += hit and not ignored
        misses += not hit and not ignored
        curve.append((hits / total, hits / max(hits + misses, 1e-300)))
    precision = [max([p for r, p in curve if r >= wanted], default=0.0) for wanted in recalls]
    return float(numpy.mean(precision)), hits / total


def value_of(images, options):
    """Returns the value that a metric with these options has: a number, or a list with class_metrics."""
    name = options.get("value", "map")
    thresholds = options.get("iou_thresholds") or list(spaced(0.5, 0.95, 10))
    recalls = options.get("rec_thresholds") or list(spaced(0, 1, 101))
    most = sorted(options.get("max_detection_thresholds", [1, 10, 100]))
    if options.get("average") == "micro" and not options.get("class_metrics"):
        images = [([{**d, "label": 0} for d in ds], [{**t, "label": 0} for t in ts]) for ds, ts in images]
    part = name[3:]
    limit = {"_1": most[0], "_10": most[1]}.get(part, most[2]) if name.startswith("mar") else most[2]
    if part in ("_50", "_75"):
        thresholds = [t for t in thresholds if t == int(part[1:]) / 100]
    area = AREAS.get(part, AREAS[""])
    labels = sorted({one["label"] for pair in images for boxes in pair for one in boxes})
    by_class = []
    for label in labels:
        scores = [scores_of_class(images, label, t, area, limit, tuple(recalls)) for t in thresholds]
        by_class.append([s[name.startswith("mar")] for s in scores if s is not None])
    if options.get("class_metrics"):
        return [float(numpy.mean(one)) if one else -1.0 for one in by_class]
    values = [value for one in by_class for value in one]
    return float(numpy.mean(values)) if values else -1.0


def to_xywh(box, box_format):
    a, b, c, d = box
    return {"xyxy": [a, b, c - a, d - b], "xywh": box, "cxcywh": [a - c / 2, b - d / 2, c, d]}[box_format]


def images_of(batches, box_format):
    """Batches of tensors, as levin's metric takes them, as (detections, targets) for each image."""
    images = []
    for boxes, scores, labels, target_boxes, target_labels, *more in batches:
        for i in range(len(boxes)):
            detections = [{"box": to_xywh(boxes[i][k].tolist(), box_format), "score": scores[i][k].item(),
                           "label": labels[i][k].item()} for k in range(boxes.shape[1]) if labels[i][k] >= 0]
            targets = []
            for k in range(target_boxes.shape[1]):
                if target_labels[i][k] < 0:
                    continue
                box = to_xywh(target_boxes[i][k].tolist(), box_format)
                area = more[1][i][k].item() if len(more) > 1 else 0
                targets.append({"box": box, "label": target_labels[i][k].item(),
                                "crowd": bool(more[0][i][k]) if more else False, "area": area or box[2] * box[3]})
            images.append((detections, targets))
    return images


def check_pycocotools(images, options):
    """Compares all twelve values with pycocotools, and with torchmetrics' thresholds. Returns whether it is there."""
    try:
        from pycocotools.coco import COCO
        from pycocotools.cocoeval import COCOeval
    except ImportError:
        return False
    import contextlib
    import io

    if not images or options.get("max_detection_thresholds", [0, 0, 100])[2] != 100:
        return True
    micro = options.get("average") == "micro"
    truth, found = COCO(), COCO()
    labels = sorted({0 if micro else one["label"] for pair in images for boxes in pair for one in boxes})
    for coco, which in ((found, 0), (truth, 1)):
        annotations = []
        for number, pair in enumerate(images):
            for one in pair[which]:
                annotations.append({"id": len(annotations) + 1, "image_id": number, "bbox": one["box"],
                                    "category_id": 0 if micro else one["label"], "score": one.get("score", 0),
                                    "iscrowd": int(one.get("crowd", False)),
                                    "area": one.get("area", one["box"][2] * one["box"][3])})
        coco.dataset = {"images": [{"id": i} for i in range(len(images))], "annotations": annotations,
                        "categories": [{"id": label} for label in labels]}
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        found.createIndex()
        coco = COCOeval(truth, found, iouType="bbox")
        coco.params.iouThrs = numpy.array(options.get("iou_thresholds") or spaced(0.5, 0.95, 10))
        coco.params.recThrs = numpy.array(options.get("rec_thresholds") or spaced(0, 1, 101))
        coco.evaluate()
        coco.accumulate()
        coco.summarize()
    names = ["map", "map_50", "map_75", "map_small", "map_medium", "map_large", "mar_1", "mar_10", "mar_100",
             "mar_small", "mar_medium", "mar_large"]
    for name, value in zip(names, coco.stats):
        own = value_of(images, {**options, "value": name, "class_metrics": False})
        assert abs(own - value) < 1e-9, (name, own, value)
    return True

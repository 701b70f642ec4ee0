"""Small random networks for images, of transformers and timm: one for each family and for what its config.json can say."""

import importlib

import torch
import transformers

CLASSES = {
    "vit": "ViT", "deit": "DeiT", "resnet": "ResNet", "convnext": "ConvNext", "convnextv2": "ConvNextV2",
    "mobilenet_v1": "MobileNetV1", "mobilenet_v2": "MobileNetV2",
}
FOREIGN = {"vit"}  # a class has a name that is not ASCII, which Python escapes
VISION = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40, "image_size": 32,
          "patch_size": 8}
# name: model type, options, side of the images if they may be of any size
CASES = {
    "vit": ("vit", VISION, 32),
    "vit_biasless": ("vit", {**VISION, "qkv_bias": False, "image_size": [32, 48], "patch_size": [8, 16],
                             "hidden_act": "gelu_new", "num_channels": 1, "layer_norm_eps": 1e-3}, None),
    "deit": ("deit", VISION, 32),
    "resnet": ("resnet", {"embedding_size": 12, "hidden_sizes": [16, 24, 40], "depths": [1, 2, 1]}, 57),
    "resnet_basic": ("resnet", {"embedding_size": 12, "hidden_sizes": [12, 20], "depths": [2, 2], "layer_type": "basic",
                                "hidden_act": "silu", "downsample_in_first_stage": True}, 40),
    "resnet_first": ("resnet", {"embedding_size": 12, "hidden_sizes": [16, 24], "depths": [1, 1],
                                "downsample_in_bottleneck": True, "num_channels": 2}, 40),
    "convnext": ("convnext", {"hidden_sizes": [8, 12, 20], "depths": [1, 2, 1], "num_stages": 3}, 50),
    "convnext_scaleless": ("convnext", {"hidden_sizes": [8, 12], "depths": [1, 1], "num_stages": 2, "patch_size": 2,
                                        "layer_scale_init_value": 0.0, "layer_norm_eps": 1e-2}, 30),
    "convnextv2": ("convnextv2", {"hidden_sizes": [8, 12, 20], "depths": [1, 2, 1], "num_stages": 3}, 50),
    "mobilenet_v1": ("mobilenet_v1", {"depth_multiplier": 0.125, "classifier_dropout_prob": 0.0}, 65),
    "mobilenet_v2": ("mobilenet_v2", {"depth_multiplier": 0.35, "classifier_dropout_prob": 0.0}, 65),
    "mobilenet_v2_dilated": ("mobilenet_v2", {"depth_multiplier": 0.1, "classifier_dropout_prob": 0.0, "output_stride": 8,
                                              "tf_padding": False, "first_layer_is_expansion": False,
                                              "finegrained_output": False, "expand_ratio": 3.0}, 64),
}
# name: architecture, arguments, side of the images
TIMM = {
    "timm_resnet18": ("resnet18", {"layers": [1, 1, 2, 1], "channels": [8, 12, 16, 20]}, 64),
    "timm_resnet50": ("resnet50", {"layers": [1, 1, 1, 2], "channels": [4, 6, 8, 10], "in_chans": 1}, 64),
    "timm_vit": ("vit_tiny_patch16_224", {"embed_dim": 24, "depth": 2, "num_heads": 3, "img_size": 32, "patch_size": 8}, 32),
    "timm_vit_mean": ("vit_small_patch16_224", {"embed_dim": 24, "depth": 2, "num_heads": 3, "img_size": [32, 48],
                                                "global_pool": "avg", "init_values": 0.1, "qkv_bias": False}, None),
    "timm_convnext": ("convnext_tiny", {"depths": [1, 1, 2, 1], "dims": [8, 12, 16, 20]}, 70),
    "timm_convnext_atto": ("convnext_atto", {"depths": [1, 1, 2, 1], "dims": [8, 12, 16, 20]}, 70),
    "timm_convnextv2": ("convnextv2_tiny", {"depths": [1, 1, 2, 1], "dims": [8, 12, 16, 20]}, 70),
    "timm_convnextv2_atto": ("convnextv2_atto", {"depths": [1, 1, 2, 1], "dims": [8, 12, 16, 20]}, 70),
    "timm_mobilenetv3_small": ("mobilenetv3_small_050", {}, 70),
    "timm_mobilenetv3_large": ("mobilenetv3_large_075", {}, 70),
}


# name: the module and the class of an image processor, its options. Margins are even: transformers rounds halves down where
# torchvision, which levin follows, rounds them to even.
MEANS = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
PROCESSORS = {
    "photos_vit": ("vit", "ViT", {"size": {"height": 20, "width": 20}}),
    "photos_vit_cubic": ("vit", "ViT", {"size": {"height": 70, "width": 70}, "resample": 3, **MEANS}),
    "photos_deit": ("deit", "DeiT", {"size": {"height": 28, "width": 28}, "crop_size": {"height": 24, "width": 24}}),
    "photos_convnext": ("convnext", "ConvNext", {"size": {"shortest_edge": 28}, "crop_pct": 0.875, **MEANS}),
    "photos_convnext_exact": ("convnext", "ConvNext", {"size": {"shortest_edge": 384}, "resample": 2}),
    "photos_mobilenet": ("mobilenet_v2", "MobileNetV2", {"size": {"shortest_edge": 28},
                                                         "crop_size": {"height": 24, "width": 24}}),
}


def make_processor(name):
    module, kind, options = PROCESSORS[name]
    path = f"transformers.models.{module}.image_processing_pil_{module}"
    return getattr(importlib.import_module(path), f"{kind}ImageProcessorPil")(**options)


def class_of(model_type):
    return getattr(transformers, CLASSES[model_type] + "ForImageClassification")


def randomize(model, seed):
    """Gives each weight and buffer values that show in the logits."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in model.parameters():
            spread = 1 / max(1, tensor[0].numel()) ** 0.5 if tensor.dim() > 1 else 0.2
            noise = torch.randn(tensor.shape, generator=generator) * spread
            tensor.copy_(1 + noise if tensor.dim() == 1 else noise)
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                buffer.copy_(torch.randn(buffer.shape, generator=generator) * 0.2)
            elif name.endswith("running_var"):
                buffer.copy_(1 + torch.rand(buffer.shape, generator=generator))
            elif name.endswith("num_batches_tracked"):
                buffer.fill_(7)
    return model


def make_network(name, seed):
    """Returns a model of transformers, with three classes that have names."""
    model_type, options, _ = CASES[name]
    classes = ["cat", "dog", "été" if name in FOREIGN else "fish"]
    labels = {"id2label": dict(enumerate(classes)), "label2id": {label: i for i, label in enumerate(classes)}}
    config = class_of(model_type).config_class(**options, **labels)
    return randomize(class_of(model_type)(config), seed)


def make_timm_network(name, seed):
    import timm

    architecture, arguments, _ = TIMM[name]
    return randomize(timm.create_model(architecture, num_classes=3, **arguments), seed)


def sizes_of(name):
    """Channels, height and width of the images."""
    _, options, side = (CASES | TIMM)[name]
    channels = options.get("num_channels", options.get("in_chans", 3))
    return (channels, *(options.get("image_size") or options["img_size"])) if side is None else (channels, side, side)

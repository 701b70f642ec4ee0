"""levin export writes what Python's torch opens, and levin predict takes files: export_test.py LEVIN."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
import torch
from PIL import Image
from safetensors.torch import load_file


def levin(*words, code=0):
    run = subprocess.run([sys.argv[1], *map(str, words)], capture_output=True, text=True, timeout=300)
    assert run.returncode == code, (words, run.returncode, run.stdout, run.stderr)
    return run.stdout if code == 0 else run.stderr


def config(folder, net, shape, **model):
    path = folder / f"{net}.json"
    path.write_text(
        json.dumps(
            {
                "seed": 3,
                "trainer": {"default_root_dir": str(folder), "accelerator": "cpu", "enable_progress_bar": False},
                "model": {"class": "ImageClassifier", "net": net, "image_shape": shape, "num_classes": 5, **model},
            }
        )
    )
    return path


def predicted(folder, path, images, *more):
    numpy.save(folder / "in.npy", images)
    levin("predict", "--config", path, "--data.class", "Npy", "--input", folder / "in.npy",
          "--output", folder / "out.npy", *more)  # fmt: skip
    return torch.from_numpy(numpy.load(folder / "out.npy"))


def check_net(folder, net, shape, **model):
    path = config(folder, net, shape, **model)
    example = ",".join(map(str, shape))
    script, weights, tensors = folder / "net.ts", folder / "net.pt", folder / "net.safetensors"
    said = levin("export", "--config", path, "--out", script, "--example", example)
    assert "TorchScript of predict_step, for batches of any size" in said, said
    levin("export", "--config", path, "--out", weights)
    loaded = torch.jit.load(script)
    images = numpy.random.default_rng(1).normal(size=(7, *shape)).astype("float32")
    with torch.no_grad():
        probabilities = loaded(torch.from_numpy(images))
    torch.testing.assert_close(probabilities, predicted(folder, path, images), rtol=1e-4, atol=1e-5)
    # The three files have the same names and values, and the weights fit Python's state dict of the script.
    state = torch.load(weights, weights_only=True)
    loaded.load_state_dict(state, strict=True)
    levin("export", "--config", path, "--ckpt-path", weights, "--out", tensors)
    as_safetensors = load_file(tensors)
    assert state.keys() == as_safetensors.keys()
    for name, value in state.items():
        assert torch.equal(value, as_safetensors[name]), name
    # Other weights, and back through each format: the predictions follow the file.
    other = {name: value * 2 if value.is_floating_point() else value for name, value in state.items()}
    torch.save({"state_dict": other}, folder / "other.ckpt")
    levin("export", "--config", path, "--ckpt-path", folder / "other.ckpt", "--out", script, "--example", example)
    with torch.no_grad():
        doubled = torch.jit.load(script)(torch.from_numpy(images))
    assert not torch.allclose(doubled, probabilities)
    torch.save(other, folder / "other.pt")
    torch.testing.assert_close(
        doubled, predicted(folder, path, images, "--model.weights", folder / "other.pt"), rtol=1e-4, atol=1e-5
    )


def check_mistakes(folder):
    path = config(folder, "mlp", [1, 4, 4])
    assert "--out: missing" in levin("export", "--config", path, code=2)
    assert "the end of the name tells the format" in levin("export", "--config", path, "--out", "x.tflite", code=2)
    assert "--example: missing" in levin("export", "--config", path, "--out", folder / "x.ts", code=2)
    assert "expected sizes" in levin("export", "--config", path, "--out", folder / "x.ts", "--example", "1,a", code=2)
    assert "image_shape" in levin("export", "--config", path, "--out", folder / "x.ts", "--example", "3,9", code=2)
    for end in ("pt2", "onnx"):
        out = folder / f"x.{end}"
        assert "--example: missing" in levin("export", "--config", path, "--out", out, code=2)
        assert "INPUT:DIMENSION=NAME" in levin("export", "--config", path, "--out", out, "--example", "1,4,4",
                                               "--dynamic", "input", code=2)  # fmt: skip
        assert "no input ids" in levin("export", "--config", path, "--out", out, "--example", "1,4,4",
                                       "--dynamic", "ids:0=batch", code=2)  # fmt: skip
        # The network takes images of one size alone.
        levin("export", "--config", path, "--out", out, "--example", "1,4,4", "--dynamic", "input:2=height", code=2)
        assert not out.exists()
    assert [path.name for path in folder.iterdir() if "draft" in path.name] == []
    assert "only .ts" in levin("export", "--config", path, "--out", folder / "x.pt", "--example", "1", code=2)
    assert "--dynamic: only" in levin("export", "--config", path, "--out", folder / "x.ts", "--example", "1,4,4",
                                      "--dynamic", "none", code=2)  # fmt: skip
    assert "cannot be written" in levin("export", "--config", path, "--out", folder / "no" / "x.pt2",
                                        "--example", "1,4,4", code=2)  # fmt: skip
    torch.save({"wrong": torch.ones(2)}, folder / "wrong.pt")
    levin("export", "--config", path, "--ckpt-path", folder / "wrong.pt", "--out", folder / "x.pt", code=2)
    assert not (folder / "x.ts").exists() and not (folder / "x.pt").exists()


def check_script_module(folder):
    """A model that Python saved comes back as the script that it was."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))
    torch.jit.script(net).save(folder / "python.ts")
    levin("export", "--model.class", "ScriptModule", "--model.file", folder / "python.ts", "--out", folder / "back.ts")
    x = torch.randn(5, 3)
    back = torch.jit.load(folder / "back.ts")
    assert not back.training
    assert torch.equal(back(x), net.eval()(x))


def check_programs(folder):
    """predict_step as programs of torch.export and as ONNX models, in Python."""
    path = config(folder, "resnet18", [3, 32, 32], small_input=True)
    images = numpy.random.default_rng(1).normal(size=(7, 3, 32, 32)).astype("float32")
    expected = predicted(folder, path, images)
    program, model = folder / "net.pt2", folder / "net.onnx"
    said = levin("export", "--config", path, "--out", program, "--example", "3,32,32", "--inference")
    assert "program for inference; read back and compared for 1, 3 and 2 samples: largest difference 0;" in said, said
    loaded = torch.export.load(program).module()
    with torch.no_grad():
        torch.testing.assert_close(loaded(torch.from_numpy(images)), expected, rtol=1e-4, atol=1e-5)
    said = levin("export", "--config", path, "--out", model, "--example", "3,32,32")
    assert "ONNX model; run by onnxruntime and compared for 1, 3 and 2 samples" in said, said
    session = onnxruntime.InferenceSession(model)
    assert session.get_inputs()[0].shape == ["batch", 3, 32, 32], session.get_inputs()[0].shape
    (result,) = session.run(None, {"input": images})
    torch.testing.assert_close(torch.from_numpy(result), expected, rtol=1e-4, atol=1e-5)
    small = config(folder, "mlp", [1, 4, 4], hidden=8)
    package = folder / "net.aoti.pt2"
    said = levin("export", "--config", small, "--out", package, "--example", "1,4,4")
    assert "package of AOTInductor; run and compared for 1, 3 and 2 samples" in said, said
    few = torch.randn(5, 1, 4, 4)
    torch.testing.assert_close(torch._inductor.aoti_load_package(str(package))(few), predicted(folder, small, few.numpy()))
    said = levin("export", "--config", path, "--out", model, "--example", "3,32,32", "--dtype", "float16")
    assert "ONNX model, Half weights, at most" in said, said
    (half,) = onnxruntime.InferenceSession(model).run(None, {"input": images.astype("float16")})
    assert half.dtype == "float16" and numpy.allclose(half, expected, atol=0.01), half
    # A program of training mode trains on, by levin alone.
    levin("export", "--config", path, "--out", program, "--example", "3,32,32")
    numpy.savez(folder / "data.npz", input=images, target=numpy.arange(7) % 5)
    levin("fit", "--model.class", "ProgramModule", "--model.program", program, "--data.class", "Npy",
          "--data.input", folder / "data.npz", "--max-epochs", 1, "--trainer.default_root_dir", folder,
          "--model.loss", "nll_loss")  # fmt: skip
    # Fixed sizes, and a script as a program.
    levin("export", "--config", path, "--out", model, "--example", "3,32,32", "--dynamic", "none")
    assert onnxruntime.InferenceSession(model).get_inputs()[0].shape == [2, 3, 32, 32]
    levin("export", "--model.class", "ScriptModule", "--model.file", folder / "python.ts", "--out", program,
          "--example", "3", "--inference")  # fmt: skip
    x = torch.randn(5, 3)
    script = torch.jit.load(folder / "python.ts").eval()
    assert torch.equal(torch.export.load(program).module()(x), script(x))


def check_functions(folder):
    """Another function than predict_step."""
    path = config(folder, "mlp", [1, 4, 4], hidden=8)
    program = folder / "logits.pt2"
    said = levin("export", "--config", path, "--out", program, "--example", "1,4,4", "--inference", "--function", "forward")
    assert f"{program}: forward as a program" in said, said
    images = torch.randn(5, 1, 4, 4)
    logits = torch.export.load(program).module()(images)
    torch.testing.assert_close(logits.softmax(1), predicted(folder, path, images.numpy()))
    assert "it has predict_step, forward" in levin("export", "--config", path, "--out", program, "--example", "1,4,4",
                                                   "--function", "decode", code=2)  # fmt: skip
    assert "--function: only" in levin("export", "--config", path, "--out", folder / "x.ts", "--example", "1,4,4",
                                       "--function", "forward", code=2)  # fmt: skip


def check_int8(folder):
    """Weights of 8 bits, and layers that compute in whole numbers."""
    path = config(folder, "lenet", [1, 28, 28], hidden=8)
    data = ("--data.class", "SyntheticDigits", "--data.train_size", 256, "--data.val_size", 64, "--model.num_classes", 10)
    levin("fit", "--config", path, *data, "--max-epochs", 2, "--trainer.default_root_dir", folder / "run")
    out = folder / "int8.onnx"
    said = levin("export", "--config", path, *data, "--ckpt-path", folder / "run", "--out", folder / "float.onnx")
    exact = onnxruntime.InferenceSession(folder / "float.onnx")
    images = numpy.random.default_rng(2).random((9, 1, 28, 28), dtype="float32")
    for more, kinds in (((), {"DequantizeLinear"}), (("--calibrate", 2), {"DequantizeLinear", "QuantizeLinear"})):
        said = levin("export", "--config", path, *data, "--ckpt-path", folder / "run", "--out", out, "--dtype", "int8", *more)
        assert "accuracy" in said and "before and" in said and "on 64 samples" in said, said
        nodes = onnx.load(out).graph.node
        assert {node.op_type for node in nodes} >= kinds, nodes
        (expected,), (got,) = (one.run(None, {"input": images}) for one in (exact, onnxruntime.InferenceSession(out)))
        assert numpy.abs(got - expected).max() < 0.1 and not numpy.array_equal(got, expected), got - expected
        assert out.stat().st_size < 0.4 * (folder / "float.onnx").stat().st_size
    refused = {
        ("--out", folder / "x.pt2", "--dtype", "int8"): "only .onnx has it",
        ("--out", out, "--calibrate", 3): "only --dtype int8",
        ("--out", out, "--dtype", "int8", "--calibrate", 3, "--preprocess"): "prepared already",
    }
    for words, why in refused.items():
        assert why in levin("export", "--config", path, *data, *words, code=2), why
    assert "config with data" in levin("export", "--config", path, "--example", "1,28,28", "--out", out, "--dtype", "int8",
                                       "--calibrate", 3, code=2)  # fmt: skip


def check_class_names(folder):
    """With --preprocess a model takes pixels and gives names."""
    path = config(folder, "lenet", [1, 28, 28], hidden=8)
    out = folder / "names.onnx"
    levin("export", "--config", path, "--data.class", "SyntheticDigits", "--data.train_size", 64, "--data.val_size", 32,
          "--model.num_classes", 10, "--out", out, "--preprocess")  # fmt: skip
    session = onnxruntime.InferenceSession(out)
    pixels = numpy.random.default_rng(4).integers(0, 255, (6, 1, 28, 28), dtype="uint8")
    scores, names = session.run(None, {session.get_inputs()[0].name: pixels})
    assert [output.name for output in session.get_outputs()][1:] == ["class"]
    assert list(names) == [str(place) for place in scores.argmax(1)], names


def check_resize(folder):
    """With --preprocess a model takes images of other sizes than the network's, and resizes them to the bit."""
    path = config(folder, "lenet", [3, 32, 32], hidden=8)
    write_images(folder / "images")
    data = ("--data.class", "ImageFolder", "--data.root", folder / "images", "--data.image_size", 32,
            "--data.val_fraction", 0.25, "--model.num_classes", 2, "--seed", 3)  # fmt: skip
    pixels = torch.from_numpy(numpy.random.default_rng(5).integers(0, 256, (3, 3, 45, 97), dtype="uint8"))
    levin("export", "--config", path, *data, "--out", folder / "plain.pt2", "--inference")
    plain = torch.export.load(folder / "plain.pt2").module()
    dynamic = [word for size in ("input:0=batch", "input:2=height", "input:3=width") for word in ("--dynamic", size)]
    raw = (*data, "--preprocess", "--example")
    exact = (*raw, "3,60,80", "--data.resize", "exact", *dynamic)
    for resized, name, words in (
        (resize(pixels, 32, 32), "exact", exact),
        (resize(pixels, 32, 32 * 97 // 45)[..., 18:50], "middle", (*raw, "3,45,97")),
    ):
        expected = plain(normalized(resized))
        levin("export", "--config", path, *words, "--out", folder / f"{name}.onnx")
        scores, names = onnxruntime.InferenceSession(folder / f"{name}.onnx").run(None, {"input": pixels.numpy()})
        torch.testing.assert_close(torch.from_numpy(scores), expected, rtol=0, atol=1e-6)
        assert list(names) == [("cat", "dog")[place] for place in expected.argmax(1)], names
        levin("export", "--config", path, *words, "--out", folder / f"{name}.pt2", "--inference")
        torch.testing.assert_close(torch.export.load(folder / f"{name}.pt2").module()(pixels), expected, rtol=0, atol=1e-6)
    # The middle's place follows from a division of sizes, which no program of changing sizes holds.
    said = levin("export", "--config", path, *raw, "3,45,97", "--out", folder / "no.onnx", *dynamic, code=2)
    assert "_upsample_bilinear2d_aa" in said, said


def resize(images, height, width):
    return torch.nn.functional.interpolate(images, (height, width), mode="bilinear", antialias=True)


def normalized(images):
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    return (images.float() / 255 - mean.view(3, 1, 1)) / std.view(3, 1, 1)


def write_images(folder):
    for name in ("cat", "dog"):
        (folder / name).mkdir(parents=True)
        for i in range(4):
            pixels = numpy.random.default_rng(i).integers(0, 256, (40, 50, 3), dtype="uint8")
            Image.fromarray(pixels).save(folder / name / f"{i}.png")


def check_drafts(folder):
    """What killed exports leave is removed by the next one; that of a living process stays."""
    path = config(folder, "mlp", [1, 4, 4], hidden=8)
    dead = subprocess.Popen(["true"])
    dead.wait()
    left, used = folder / f".kept.pt2.{dead.pid}.draft", folder / f".kept.pt2.{os.getpid()}.draft"
    for draft in (left, used):
        draft.mkdir()
        (draft / "kept.pt2").write_text("half")
    levin("export", "--config", path, "--out", folder / "kept.pt2", "--example", "1,4,4")
    assert not left.exists() and used.exists()
    shutil.rmtree(used)
    assert [path.name for path in folder.iterdir() if "draft" in path.name] == []


def check_data_of_config(folder):
    """Without --example the first batch of the data is taken."""
    path = config(folder, "lenet", [1, 28, 28], hidden=8)
    said = levin("export", "--config", path, "--data.class", "SyntheticDigits", "--data.train_size", 64,
                 "--data.val_size", 32, "--model.num_classes", 10, "--out", folder / "digits.ts")  # fmt: skip
    assert "any size" in said, said
    assert torch.jit.load(folder / "digits.ts")(torch.zeros(3, 1, 28, 28)).shape == (3, 10)
    levin("export", "--config", path, "--data.class", "SyntheticDigits", "--data.train_size", 64, "--data.val_size", 32,
          "--model.num_classes", 10, "--out", folder / "digits.onnx")  # fmt: skip
    assert onnxruntime.InferenceSession(folder / "digits.onnx").get_inputs()[0].shape == ["batch", 1, 28, 28]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_net(folder, "mlp", [1, 8, 8], hidden=16)
        check_net(folder, "resnet18", [3, 32, 32], small_input=True)
        check_mistakes(folder)
        check_script_module(folder)
        check_programs(folder)
        check_data_of_config(folder)
        check_drafts(folder)
        check_functions(folder)
        check_int8(folder)
        check_class_names(folder)
        check_resize(folder)
    print("Python opens what levin exports")


if __name__ == "__main__":
    main()

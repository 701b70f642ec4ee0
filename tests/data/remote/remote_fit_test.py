"""levin fit with its config, data and checkpoints in a bucket, and resumed from there, gives the bits of a local run.

usage: remote_fit_test.py LEVIN
"""

import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from bucket_server import BucketServer

try:
    import torch
except ImportError as error:
    print("SKIPPED: this Python has no", error.name)
    sys.exit(77)

LEVIN = sys.argv[1]


def fit(home, env, *words, code=0, wait=True):
    arguments = [LEVIN, "fit", *map(str, words), "--trainer.accelerator", "cpu", "--trainer.quiet", "true"]
    process = subprocess.Popen(arguments, cwd=home, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not wait:
        return process
    out, error = process.communicate(timeout=120)
    assert process.returncode == code, (words, process.returncode, out, error)
    assert "secret" not in out + error
    return error


def table(rows, seed):
    drawn = random.Random(seed)
    lines = ["a,b,c,y"]
    for _ in range(rows):
        a, b, c = (drawn.gauss(0, 1) for _ in range(3))
        lines.append(f"{a:.6f},{b:.6f},{c:.6f},{2 * a - b + 0.1 * c:.6f}")
    return "\n".join(lines) + "\n"


def tensors(path):
    return torch.load(path, weights_only=False)["state_dict"]


def check_equal(one, other):
    assert one.keys() == other.keys() and len(one) > 0
    for name in one:
        assert torch.equal(one[name], other[name]), name


def weights_of(home, run):
    return torch.load(home / run / "version_0/weights.pt", weights_only=True)


def config(data, base=None, epochs=4):
    """The options of a run; those of the base are left out."""
    own = {"data": {"class": "Csv", "file": data, "target": "y", "target_type": "number", "batch_size": 8}}
    rest = {"seed": 1, "model": {"class": "MLPRegressor"}, "trainer": {"max_epochs": epochs}}
    return json.dumps({"base": base, **own} if base else {**rest, **own})


def main():
    server = BucketServer()
    home = pathlib.Path(tempfile.mkdtemp())
    try:
        env = server.environment(home)
        (home / "train.csv").write_text(table(64, 3))
        (home / "local.json").write_text(config("train.csv"))
        fit(home, env, "--config", "local.json", "--name", "local")
        local = weights_of(home, "local")

        # Config with a base, data and checkpoints in the bucket.
        server.put("exp/train.csv", (home / "train.csv").read_bytes())
        server.put("exp/configs/base.json", config("none.csv", epochs=4).encode())
        server.put("exp/configs/fit.json", config("s3://bucket/exp/train.csv", base="base.json").encode())
        saver = ["--trainer.callbacks", '[{"class": "ModelCheckpoint", "dirpath": "s3://bucket/exp/ckpt", "save_last": true}]']
        server.proxy.fault("status", 503, method="PUT", path="/ckpt/")
        fit(home, env, "--config", "s3://bucket/exp/configs/fit.json", "--name", "whole", *saver)
        check_equal(weights_of(home, "whole"), local)
        assert server.keys("exp/ckpt/") == ["exp/ckpt/epoch=3-step=32.ckpt", "exp/ckpt/last.ckpt"], server.keys("exp/ckpt/")
        local_copy = home / "whole/version_0/checkpoints/epoch=3-step=32.ckpt"
        assert server.get("exp/ckpt/epoch=3-step=32.ckpt") == local_copy.read_bytes()
        assert server.get("exp/ckpt/last.ckpt") == local_copy.read_bytes()

        # Half of the run on one machine, the rest on another, which has nothing but the bucket.
        saver[1] = saver[1].replace("exp/ckpt", "exp/half")
        fit(home, env, "--config", "s3://bucket/exp/configs/fit.json", "--name", "half", "--trainer.max_epochs", 2, *saver)
        second = home / "second"
        second.mkdir()
        other = dict(server.environment(second))
        for name, ckpt in (("folder", "s3://bucket/exp/half"), ("file", "s3://bucket/exp/half/last.ckpt")):
            fit(second, other, "--config", "s3://bucket/exp/configs/fit.json", "--name", name, "--ckpt-path", ckpt)
            check_equal(weights_of(second, name), local)

        # The file from which a run was resumed stays, the others are replaced.
        fit(second, other, "--config", "s3://bucket/exp/configs/fit.json", "--name", "again", "--ckpt-path",
            "s3://bucket/exp/half", *saver)
        check_equal(weights_of(second, "again"), local)
        assert "exp/half/epoch=1-step=16.ckpt" in server.keys("exp/half/") or "exp/half/last.ckpt" in server.keys("exp/half/")
        assert "exp/half/epoch=3-step=32.ckpt" in server.keys("exp/half/")

        # Weights at a URL.
        server.put("exp/weights.pt", (home / "local/version_0/weights.pt").read_bytes())
        fit(second, other, "--config", "s3://bucket/exp/configs/fit.json", "--name", "weights", "--model.weights",
            "s3://bucket/exp/weights.pt", "--trainer.max_epochs", 1)

        check_texts(server, home, second, env, other)
        check_stop(server, home, env, saver)
        check_errors(server, home, env, saver)
        assert server.proxy.wrong == [], server.proxy.wrong
        for file in list(home.rglob("*.json")) + list(home.rglob("*.ckpt")) + list(home.rglob("*.log")):
            assert b"secret/of" not in file.read_bytes(), file
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def check_texts(server, home, second, env, other):
    """Files that are named by patterns, and texts, as local ones."""
    drawn = random.Random(7)
    for i in range(2):
        (home / f"part-{i}.bin").write_bytes(bytes(value for _ in range(300) for value in (drawn.randrange(50), 0)))
        server.put(f"exp/part-{i}.bin", (home / f"part-{i}.bin").read_bytes())
    (home / "book.txt").write_text("".join(drawn.choice("abcdef ") for _ in range(400)))
    server.put("exp/book.txt", (home / "book.txt").read_bytes())
    own = {"seed": 1, "trainer": {"max_epochs": 1}, "model": {"class": "LanguageModel", "vocab_size": 64, "block_size": 16,
           "layers": 1, "heads": 1, "embedding": 8}}
    tokens = {"class": "TokenFile", "dtype": "uint16", "block_size": 16, "batch_size": 8}
    text = {"class": "Text", "block_size": 16, "batch_size": 8, "file": "%sbook.txt"}
    for name, data in (("tokens", dict(tokens, files=["%spart-*.bin"])), ("text", text)):
        for folder, where, prefix in ((home, env, ""), (second, other, "s3://bucket/exp/")):
            (folder / f"{name}.json").write_text(json.dumps(dict(own, data=data)).replace("%s", prefix))
            fit(folder, where, "--config", f"{name}.json", "--name", name)
        check_equal(weights_of(second, name), weights_of(home, name))


def check_stop(server, home, env, saver):
    """A run that is told to end uploads its last state."""
    words = [saver[0], saver[1].replace("exp/half", "exp/stop")]
    process = fit(home, env, "--config", "s3://bucket/exp/configs/fit.json", "--name", "stop", "--trainer.max_epochs",
                  100000, *words, wait=False)
    begin = time.monotonic()
    while not server.keys("exp/stop/") and process.poll() is None and time.monotonic() - begin < 60:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    error = process.communicate(timeout=60)[1]
    assert "exp/stop/on_signal.ckpt" in server.keys("exp/stop/"), (server.keys("exp/stop/"), error)


def check_errors(server, home, env, saver):
    words = ["--config", "s3://bucket/exp/configs/fit.json", "--name", "errors"]
    assert "no such object" in fit(home, env, "--config", "s3://bucket/exp/none.json", code=2)
    assert "no such object" in fit(home, env, *words, "--data.file", "s3://bucket/none.csv", code=2)
    assert "there is no checkpoint in the folder" in fit(home, env, *words, "--ckpt-path", "s3://bucket/none", code=2)
    error = fit(home, env, *words, "--trainer.default_root_dir", "s3://bucket/x", code=2)
    assert "dirpath of ModelCheckpoint" in error, error
    server.proxy.fault("status", (403, {}, "<Error><Code>AccessDenied</Code></Error>"), method="POST", path="uploads")
    error = fit(home, env, *words, *saver, code=2)
    assert "ModelCheckpoint.dirpath" in error and "AccessDenied" in error, error
    assert not (home / "errors/version_0/weights.pt").exists()
    # An upload that fails for good ends the run, and the local checkpoint is there.
    server.proxy.fault("status", (403, {}, "<Error><Code>AccessDenied</Code></Error>"), method="PUT", path="/half/", count=99)
    error = fit(home, env, "--config", "s3://bucket/exp/configs/fit.json", "--name", "kept", *saver, code=1)
    assert "a checkpoint was not saved" in error and "AccessDenied" in error, error
    assert list((home / "kept/version_0/checkpoints").glob("*.ckpt"))
    server.proxy.clear()


if __name__ == "__main__":
    main()

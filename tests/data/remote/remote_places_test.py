"""Data, weights and outputs in a bucket are those of local files, and every option that takes a path takes a URL, or says that it
takes local paths.

usage: remote_places_test.py LEVIN
"""

import concurrent.futures
import datetime
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

from bucket_server import REGION, BucketServer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "trainer/effects"))

try:
    import bases
    import boto3
    import botocore.config
    import small_data
    import torch
except ImportError as error:
    print("SKIPPED: this Python has no", error.name)
    sys.exit(77)

LEVIN = sys.argv[1]
URL = "s3://bucket/data"
PARTS = 4
UNET = {"class": "UNet", "num_classes": 3, "base_channels": 2, "depth": 2}


def levin(home, env, *words, code=0):
    done = subprocess.run([LEVIN, *map(str, words)], cwd=home, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def write_config(home, name, model, data, **trainer):
    config = {"seed": 1, "model": model, **({"data": data} if data else {}),
              "trainer": {"accelerator": "cpu", "quiet": True, "max_epochs": 1, "num_sanity_val_steps": 0, **trainer}}
    (home / f"{name}.json").write_text(json.dumps(config))
    return f"{name}.json"


def weights(home, name):
    return torch.load(home / name / "version_0/weights.pt", weights_only=True)


def check_equal(one, other, name):
    assert one.keys() == other.keys() and len(one) > 0
    for key in one:
        assert torch.equal(one[key], other[key]), (name, key)


def upload(server, folder, prefix):
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        server.put(f"{prefix}/{file.relative_to(folder)}", file.read_bytes())


def write_pairs(path, shapes):
    """A tar file of the pictures and masks of write_masks."""
    with tarfile.open(path, "w") as file:
        for image in sorted((shapes / "images").glob("*.png")):
            for extension, content in (("mask.png", (shapes / "masks" / image.name).read_bytes()), ("png", image.read_bytes())):
                info = tarfile.TarInfo(f"{image.stem}.{extension}")
                info.size = len(content)
                file.addfile(info, io.BytesIO(content))


def data_cases(place):
    """Name -> (model, data) with files at `place`."""
    data, models = bases.data_modules(place), bases.models(place)
    cases = {name: (data[name][1], {"class": name, **data[name][0]}) for name in
             ("ImageFolder", "CsvImages", "Segmentation", "Detection", "Parquet", "JsonLines", "Hdf5", "Csv")}
    cases["CsvImages of URLs"] = (cases["CsvImages"][0], {**cases["CsvImages"][1], "file": f"{place}/lists/urls.csv", "root": ""})
    cases["JsonLines in a folder"] = (cases["JsonLines"][0], {**cases["JsonLines"][1], "files": [f"{place}/rows"], "val_files": []})
    cases["Tar with masks"] = (UNET, {"class": "Tar", "shards": [f"{place}/pairs/*.tar"], "mask": "mask.png", "batch_size": 6,
                                      "transforms": ["ConvertImage", "RandomHorizontalFlip", {"class": "CenterCrop", "size": 8},
                                                     {"class": "Normalize", "mean": [0.5], "std": [0.3]}]})
    assert models
    return cases


def prepare(server, home):
    local = home / "data"
    local.mkdir()
    small_data.write_small_data(local)
    images = sorted(path.relative_to(local / "images") for path in (local / "images").rglob("*.png"))
    for folder, place in ((local, local / "images"), (None, f"{URL}/images")):
        text = "path,label\n" + "".join(f"{place}/{image},{image.parts[0]}\n" for image in images)
        if folder:
            (local / "lists/urls.csv").write_text(text)
    (local / "rows").mkdir()
    for part in ("train", "val"):
        shutil.copy(local / f"tables/{part}.jsonl", local / "rows")
    (local / "pairs").mkdir()
    for part in ("train", "test"):
        write_pairs(local / f"pairs/{part}.tar", local / "shapes" / part)
    (local / "programs").mkdir()
    torch.manual_seed(1)
    net = torch.nn.Linear(6, 2)
    torch.jit.save(torch.jit.script(net), local / "programs/net.ts")
    rows = torch.export.Dim("rows")
    torch.export.save(torch.export.export(net, (torch.randn(4, 6),), dynamic_shapes=({0: rows},)), local / "programs/net.pt2")
    upload(server, local, "data")
    server.put("data/lists/urls.csv", text.encode())
    return local


def check_data(server, home, env, local):
    """Each kind of data, in a bucket as here, in a first and a second process."""
    remote = data_cases(URL)
    for name, (model, data) in data_cases(local).items():
        tag = name.replace(" ", "-")
        levin(home, env, "fit", "--config", write_config(home, f"{tag}-local", model, data), "--name", f"{tag}-local")
        config = write_config(home, tag, *remote[name])
        server.proxy.clear()
        for attempt in ("first", "second"):
            levin(home, env, "fit", "--config", config, "--name", f"{tag}-{attempt}")
            check_equal(weights(home, f"{tag}-{attempt}"), weights(home, f"{tag}-local"), name)
            fetched = [path for method, path, _ in server.proxy.clear() if method == "GET" and "list-type" not in path]
            assert bool(fetched) == (attempt == "first"), (name, attempt, fetched)


def check_predictions(server, home, env, local):
    (home / "shown").mkdir()
    config = write_config(home, "predict", *data_cases(URL)["ImageFolder"])
    for place, images in (("shown/local.csv", local / "others"), ("s3://bucket/out/scores.csv", f"{URL}/others")):
        levin(home, env, "predict", "--config", config, "--input", images, "--output", place)
    ours = (home / "shown/local.csv").read_text().replace(str(local), URL)
    assert server.get("out/scores.csv").decode() == ours and ours.count("\n") == 6
    assert "expected a file that ends in" in levin(home, env, "predict", "--config", config, "--output", "s3://bucket/x", code=2)
    assert "files are written to" in levin(home, env, "predict", "--config", config, "--output", "https://127.0.0.1/x.csv", code=2)


def check_outputs(server, home, env, local):
    """What commands write, and read again."""
    last = next((home / "Csv-local/version_0/checkpoints").glob("*.ckpt"))
    for out in ("net.pt", "net.safetensors", "net.pt2"):
        for place in ("shown", "s3://bucket/out"):
            told = levin(home, env, "export", "--config", "Csv-local.json", "--ckpt-path", last, "--out", f"{place}/{out}")
            assert told.startswith(f"{place}/{out}: "), told
        if out != "net.pt2":  # which has the time in it
            assert server.get(f"out/{out}") == (home / "shown" / out).read_bytes(), out
    config = write_config(home, "causal", *bases.data_modules(local)["TokenFile"][::-1])
    for place in ("shown", "s3://bucket/out"):
        levin(home, env, "export", "--config", config, "--out", f"{place}/llama")
    names = sorted(path.name for path in (home / "shown/llama").iterdir())
    assert server.keys("out/llama/") == [f"out/llama/{name}" for name in names] and "config.json" in names
    for name in names:
        assert server.get(f"out/llama/{name}") == (home / "shown/llama" / name).read_bytes(), name
    # A folder for the trained model, and a part of the checkpoint's commands.
    saved = {**json.loads((home / config).read_text())}
    saved["model"]["save_to"] = "s3://bucket/out/trained"
    (home / "saved.json").write_text(json.dumps(saved))
    levin(home, env, "fit", "--config", "saved.json", "--name", "saved")
    assert "out/trained/model.safetensors" in server.keys("out/trained/")
    levin(home, env, "ckpt", "convert", last, "s3://bucket/out/parts.ckpt", "--shards", 2)
    assert len(server.keys("out/parts.ckpt")) == 3
    told = levin(home, env, "ckpt", "ls", "s3://bucket/out/parts.ckpt")
    assert told.startswith("s3://bucket/out/parts.ckpt: PyTorch") and "with 2 parts" in told
    assert "checksums in 3 files" in levin(home, env, "ckpt", "verify", "s3://bucket/out/parts.ckpt")
    levin(home, env, "ckpt", "diff", last, "s3://bucket/out/parts.ckpt")
    levin(home, env, "ckpt", "convert", "s3://bucket/out/parts.ckpt", "back.ckpt")
    check_equal(torch.load(home / "back.ckpt", weights_only=False)["state_dict"], torch.load(last, weights_only=False)["state_dict"], "parts")
    for words in (["report", "Csv-local", "--out", "s3://bucket/out/a.html"], ["data", "guess", "data/tables/train.csv", "--output", "s3://bucket/a.json"],
                  ["compile", "--config", "Csv-local.json", "--out", "s3://bucket/a.pt2"]):
        assert "a path of this machine was expected" in levin(home, env, *words, code=2), words


def check_language_models(server, home, env, local):
    """merge, generate and tokenize: in a bucket as here."""
    model, data = bases.models(str(local))["CausalLM"]
    levin(home, env, "fit", "--config", write_config(home, "lora", {**model, "adapter": {"class": "LoRA"}}, data), "--name", "lora")
    upload(server, home / "lora/version_0/adapter", "adapter")
    (home / "texts").mkdir()
    for name, text in (("prompts.txt", "ab\ncd\n"), ("a.txt", "one\n"), ("b.jsonl", '{"text": "two"}\n')):
        (home / "texts" / name).write_text(text)
    upload(server, home / "texts", "texts")
    for llama, adapter, texts, out in ((local / "llama", "lora/version_0/adapter", "texts", "shown"),
                                       (f"{URL}/llama", "s3://bucket/adapter", "s3://bucket/texts", "s3://bucket/out")):
        levin(home, env, "merge", "--base", llama, "--adapter", adapter, "--out", f"{out}/merged")
        levin(home, env, "generate", "--folder", llama, "--adapter", adapter, "--tokenizer", f"{llama}/tokenizer.json", "--file",
              f"{texts}/prompts.txt", "--tokens", 5, "--out", f"{out}/generated.jsonl")
        levin(home, env, "tokenize", "--tokenizer", llama, "--in", f"{texts}/a.*", f"{texts}/b.*", "--out", f"{out}/tokens.bin")
    merged = [f"merged/{path.name}" for path in (home / "shown/merged").iterdir()]
    assert "merged/model.safetensors" in merged and len(server.keys("out/merged/")) == len(merged)
    for name in [*merged, "generated.jsonl", "tokens.bin"]:
        assert server.get(f"out/{name}") == (home / "shown" / name).read_bytes(), name
    before = server.get("data/llama/model.safetensors")
    words = ["merge", "--base", f"{URL}/llama/", "--adapter", "s3://bucket/adapter", "--out", f"{URL}/llama"]
    assert "this is the folder of --base" in levin(home, env, *words, code=2)
    assert server.get("data/llama/model.safetensors") == before


def check_guesses(server, home, env, local):
    """A guess about a file in a bucket is that about the local file, and names the URL."""
    for name in ("tables/train.csv", "tables/train.parquet", "tables/train.jsonl", "text.txt"):
        levin(home, env, "data", "guess", local / name, "--output", "local.json")
        levin(home, env, "data", "guess", f"{URL}/{name}", "--output", "remote.json")
        ours = (home / "local.json").read_text().replace(str(local), URL).replace("local.json", "remote.json")
        assert (home / "remote.json").read_text() == ours, name
        (home / "local.json").unlink()
        (home / "remote.json").unlink()
    levin(home, env, "data", "guess", f"{URL}/lists/urls.csv", "--output", "list.json")
    assert f'"file": "{URL}/lists/urls.csv"' in (home / "list.json").read_text()
    assert "single files are looked at" in levin(home, env, "data", "guess", f"{URL}/images", code=2)


def check_local_commands(server, home, env, local):
    """What reads or writes folders of this machine alone says so, and makes no folder s3:."""
    run = "s3://bucket/runs/Csv-local"
    for words in (["ls", run], ["report", run], ["watch", run, "--once"], ["serve", run], ["gc", run, "--yes"], ["rm", run, "--yes"],
                  ["compare", "Csv-local/version_0", run]):
        assert "runs are read from folders of this machine" in levin(home, env, *words, code=2), words
    for words in (["new", f"{run}/new"], ["sweep", "--config", "Csv-local.json", "--folder", run, "--trainer.max_epochs", "1,2"],
                  ["man", "--output", run], ["fit", "--config", "Csv-local.json", "--name", run]):
        assert "a path of this machine was expected" in levin(home, env, *words, code=2), words
    assert not (home / "s3:").exists()


FROM_SERVER = ("there is no such object", "there is nothing in this folder", "no file matches", "there is no folder s3", "no folder s3",
               "there is no checkpoint", "there is no .jpg", "no subfolders", "there is no image s3")
LOCAL_ONLY = "of this machine was expected"
# Options whose help speaks of files or folders, and which are no places.
NO_PLACES = re.compile(r"(images|masks|mask_suffix|filename|download|url|endpoint|level|vocabulary|path|dtype|.*_key|labels|num_labels|loss|"
                       r"pooling|normalize|max_length|weights_.+|repeat|state_dict_type|name|class_names|mask|input|target)$")
WRITTEN = ("save_to", "dirpath")


def places(docs):
    """The options that take a path, by their help: kind and name of the class, the option, and whether it is a list."""
    about = re.compile(r"\b(files?|folders?|package)\b", re.IGNORECASE)
    kind = name = ""
    for line in docs.splitlines():
        if line.startswith("## "):
            kind, name = line[3:].strip().lower(), ""
        elif line.startswith("### "):
            name = line[4:].strip()
        elif match := re.match(r"\| `(\w+)` \| (text|a list, each text)[^|]*\|[^|]*\| (.*) \|$", line):
            is_place = (name, match[1]) in KNOWN_PLACES or not NO_PLACES.match(match[1])
            if is_place and about.search(match[3]):
                yield kind, name, match[1], match[2] != "text"


KNOWN_PLACES = {("Detection", "images"), ("Npy", "input"), ("Npy", "target")}


def run_of(place, kind, name, option, value):
    """A command and the parts of a config in which the option counts."""
    data, models = bases.data_modules(place), bases.models(place)
    part = {option: value}
    model, rows = data["Csv"][1], {"class": "Csv", **data["Csv"][0]}
    llama, tokens = models["CausalLM"]
    if name in data:
        more = {"val_images": {"val_annotations": f"{place}/boxes/test.json"}}.get(option, {})
        command = "predict" if "predict" in option else "test" if option.startswith("test") else "fit"
        return command, data[name][1], {"class": name, **data[name][0], **more, **part}, {}
    if name in models:
        return "fit", {**models[name][0], **part}, models[name][1], {}
    if kind.startswith("profiler"):
        return "fit", model, rows, {"profiler": {"class": name, **part}}
    if kind.startswith("callback"):
        generates = name == "SampleText"
        callback = {"class": name, **({"prompts": ["a"]} if generates else {}), **part}
        return "fit", llama if generates else model, tokens if generates else rows, {"callbacks": [callback]}
    if kind.startswith("adapter"):
        return "fit", {**llama, "adapter": {"class": name, **part}}, tokens, {}
    if kind.startswith("objective"):
        preferences = {"class": "TextPreferences", **bases.preferences(place)}
        return "fit", {**llama, "objective": {"class": name, **part}}, preferences if name == "DPO" else tokens, {}
    return "fit", model, rows, part


def check_every_option(server, home, env, local):
    """Each option that takes a path, set to a place in the bucket where nothing is; without LEVIN_EVERY_OPTION a part each day."""
    found = list(places(levin(home, env, "config", "docs")))
    assert len(found) > 80, found
    if not os.environ.get("LEVIN_EVERY_OPTION"):
        found = found[datetime.date.today().toordinal() % PARTS::PARTS]

    def check(one):
        kind, name, option, is_list = one
        url = f"s3://bucket/none/{name}.{option}"
        folder = home / "options" / f"{name}.{option}"
        folder.mkdir(parents=True)
        command, model, data, trainer = run_of(str(local), kind, name, option, [url] if is_list else url)
        config = write_config(folder, "run", model, data, **trainer)
        done = subprocess.run([LEVIN, command, "--config", config], cwd=folder, env={**env, "LEVIN_ALLOW_PYTHON": "1"},
                              capture_output=True, text=True, timeout=120)
        said = done.stdout + done.stderr
        is_written = option in WRITTEN and done.returncode == 0 and (server.keys(f"none/{name}.{option}") or name == "OnExceptionCheckpoint")
        is_refused = done.returncode == 2 and (LOCAL_ONLY in said or any(text in said for text in FROM_SERVER))
        return None if is_written or is_refused else (f"{kind}: {name}.{option}", done.returncode, said[-500:])

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        unclear = [wrong for wrong in pool.map(check, found) if wrong]
    assert unclear == [], "\n".join(map(str, unclear))


def check_signed_url(server, home, env, local):
    """A URL with a signature: it is used, and neither saved nor printed."""
    host = "http://%s:%s" % server.moto.get_host_and_port()
    client = boto3.client("s3", endpoint_url=host, region_name=REGION, aws_access_key_id="moto", aws_secret_access_key="moto",
                          config=botocore.config.Config(signature_version="s3v4", s3={"addressing_style": "path"}))
    url = client.generate_presigned_url("get_object", {"Bucket": "bucket", "Key": "data/tables/train.csv"})
    secret = re.search("X-Amz-Signature=(\\w+)", url)[1]
    model, data = data_cases(str(local))["Csv"]
    config = write_config(home, "signed", model, {**data, "file": url}, logger=["CSVLogger", "JSONLinesLogger", "TensorBoardLogger"])
    said = levin(home, env, "fit", "--config", config, "--name", "signed")
    check_equal(weights(home, "signed"), weights(home, "Csv-local"), "signed")
    said += levin(home, env, "config", "show", "--config", config) + levin(home, env, "config", "explain", "--config", config)
    said += levin(home, env, "fit", "--config", config, "--data.target", "none", code=2)
    said += levin(home, env, "fit", "--config", config, "--data.file", url.replace("train.csv", "none.csv"), code=2)
    said += levin(home, env, "fit", "--config", config, "--model.weights", url.replace("train.csv", "none.csv"), code=2)
    assert secret not in said and "X-Amz-Signature=REDACTED" in said, said
    files = [path for path in (home / "signed").rglob("*") if path.is_file()]
    for file in files:
        content = file.read_bytes()
        if file.suffix == ".ckpt":  # its records may be packed
            content += repr(torch.load(file, weights_only=False)).encode()
        assert secret.encode() not in content, file
    assert any("REDACTED" in file.read_text() for file in files if file.name == "config.json")
    # Saved configs say what is missing.
    saved = home / "signed/version_0/config.json"
    error = levin(home, env, "fit", "--config", saved, "--name", "again", code=2)
    assert "saved without its credentials (X-Amz-" in error and "give the whole URL again" in error, error
    levin(home, env, "fit", "--config", saved, "--name", "again", "--data.file", url)
    # Another signature of the same file finds the copy in the cache.
    copies = list((home / "cache/remote").rglob("train.csv"))
    other = client.generate_presigned_url("get_object", {"Bucket": "bucket", "Key": "data/tables/train.csv"}, ExpiresIn=777)
    levin(home, env, "fit", "--config", saved, "--name", "other", "--data.file", other)
    assert list((home / "cache/remote").rglob("train.csv")) == copies


def check_python_opt_in(server, home, env, local):
    """A config that names a Python file runs it if the command line says so."""
    model, data = bases.data_modules(str(local))["PythonDataset"][::-1]
    config = write_config(home, "python", model, {"class": "PythonDataset", **data})
    error = levin(home, env, "fit", "--config", config, "--name", "refused", code=2)
    assert "data.class (python.json:1)" in error and "--allow-python" in error and "python_data.py" in error, error
    mixture = write_config(home, "mixture", model, {"class": "Mixture", "datasets": [{"class": "PythonDataset", **data}]})
    assert "data.datasets[0].class" in levin(home, env, "fit", "--config", mixture, code=2)
    levin(home, env, "config", "check", "--config", config)
    assert "PythonDataset" in levin(home, env, "config", "show", "--config", config)
    levin(home, env, "fit", "--config", config, "--name", "flag", "--allow-python", "--data.python", sys.executable)
    levin(home, {**env, "LEVIN_ALLOW_PYTHON": "1"}, "fit", "--config", mixture, "--name", "variable", "--data.datasets.0.python", sys.executable)
    words = ["--data.class", "PythonDataset", "--data.file", local / "python_data.py", "--data.python", sys.executable]
    model = write_config(home, "own", model, None)
    levin(home, env, "fit", "--config", model, "--name", "own", *words)
    check_equal(weights(home, "own"), weights(home, "flag"), "PythonDataset")


def main():
    server = BucketServer()
    home = pathlib.Path(tempfile.mkdtemp())
    try:
        env = server.environment(home)
        env.pop("LEVIN_ALLOW_PYTHON", None)
        local = prepare(server, home)
        for check in (check_data, check_predictions, check_outputs, check_language_models, check_guesses, check_local_commands,
                      check_signed_url, check_python_opt_in, check_every_option):
            begin = time.monotonic()
            check(server, home, env, local)
            print(f"{check.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
        unsigned = [one for one in server.proxy.wrong if one[2] != "not signed"]
        assert unsigned == [], unsigned
        assert list(pathlib.Path(tempfile.gettempdir()).glob("levin-*/**/net.pt")) == []
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()

"""TensorBoard's own reader reads what TensorBoardLogger writes: scalars, text and hyperparameters.

Usage: python tensorboard_test.py LEVIN_PROGRAM. Exits 77 (skipped) without tensorboard.
"""
import importlib.util, json, pathlib, subprocess, sys, tempfile

if importlib.util.find_spec("tensorboard") is None:
    print("skipped: this Python has no tensorboard")
    sys.exit(77)
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

with tempfile.TemporaryDirectory() as folder:
    command = [sys.argv[1], "fit", "--model.class", "ImageClassifier", "--data.class", "SyntheticDigits", "--model.net", "mlp",
               "--model.optimizer.class", "SGD", "--model.optimizer.lr", "0.25", "--max-steps", "6",
               "--limit-val-batches", "1", "--log-every-n-steps", "2", "--default-root-dir", folder, "--name", "run",
               "--logger", '["TensorBoardLogger", "JSONLinesLogger"]']
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    run = pathlib.Path(folder) / "run" / "version_0"
    assert not (run / "metrics.csv").exists()
    events = EventAccumulator(str(run))
    events.Reload()

    written = {}
    for line in open(run / "metrics.jsonl"):
        row = json.loads(line)
        for name, value in row.items():
            if name not in ("step", "wall_seconds"):
                written.setdefault(name, []).append((row["step"], value))
    assert set(events.Tags()["scalars"]) == set(written), (events.Tags(), written)
    for name, points in written.items():
        read = [(event.step, event.value) for event in events.Scalars(name)]
        assert [step for step, _ in read] == [step for step, _ in points], (name, read, points)
        assert all(abs(a - b) <= 1e-6 * max(1, abs(b)) for (_, a), (_, b) in zip(read, points)), (name, read, points)
    assert [step for step, _ in written["train_loss"]] == [2, 4, 6], written

    text = events.Tensors("hyperparameters/text_summary")[0].tensor_proto.string_val[0].decode()
    assert '"net": "mlp"' in text, text
    content = {tag.rsplit("/", 1)[1]: plugin_data_pb2.HParamsPluginData.FromString(data)
               for tag, data in events.PluginTagToContent("hparams").items()}
    hparams = content["session_start_info"].session_start_info.hparams
    assert hparams["net"].string_value == "mlp", hparams
    assert hparams["optimizer.lr"].number_value == 0.25, hparams
    assert {info.name for info in content["experiment"].experiment.hparam_infos} == set(hparams)
    assert content["session_end_info"].session_end_info.status == 1, content
print("TensorBoard read", len(written), "metrics, the text and the hyperparameters")

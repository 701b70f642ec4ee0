"""TensorBoard's own reader reads what TensorBoardLogger writes: scalars, images, histograms, texts, hyperparameters with
the final metrics, and the graph.

Usage: python tensorboard_test.py LEVIN_PROGRAM TENSORBOARD_TOOL. Exits 77 (skipped) without tensorboard.
"""
import importlib.util, json, pathlib, subprocess, sys, tempfile

if importlib.util.find_spec("tensorboard") is None:
    print("skipped: this Python has no tensorboard")
    sys.exit(77)
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups, plugin_data_pb2


def hparams_rows(folder):
    """The rows of the HPARAMS page: of each run its hyperparameters and the last values of its metrics."""
    multiplexer = EventMultiplexer().AddRunsFromDirectory(folder)
    multiplexer.Reload()
    context = backend_context.Context(TBContext(data_provider=MultiplexerDataProvider(multiplexer, folder)))
    columns = context.experiment_from_metadata(RequestContext(), "", True, context.hparams_metadata(RequestContext(), ""), [])
    request = api_pb2.ListSessionGroupsRequest(
        allowed_statuses=[api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE, api_pb2.STATUS_RUNNING], slice_size=100,
        col_params=[api_pb2.ColParams(metric=info.name) for info in columns.metric_infos], include_metrics=True)
    groups = list_session_groups.Handler(RequestContext(), context, "", request).run().session_groups
    return [(dict(group.hparams), {value.name.tag: value.value for value in group.metric_values}) for group in groups]


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
    (row,) = hparams_rows(folder)
    assert row[0]["optimizer.lr"].number_value == 0.25, row
    for name, points in written.items():
        assert abs(row[1][name] - points[-1][1]) <= 1e-6 * max(1, abs(points[-1][1])), (name, row, points[-1])
    assert content["session_end_info"].session_end_info.status == 1, content

with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([sys.argv[2], folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    events = EventAccumulator(str(pathlib.Path(folder) / "graph" / "version_0"))
    events.Reload()

    assert [event.step for event in events.Images("ramp")] == [2, 4]
    image = events.Images("ramp")[0]
    assert (image.height, image.width) == (2, 2)
    if importlib.util.find_spec("PIL"):
        import io
        from PIL import Image
        pixels = Image.open(io.BytesIO(image.encoded_image_string))
        red = [round(255 * i / 11 - 0.5) for i in range(4)]
        read = [pixels.getpixel((x, y))[0] for y in range(2) for x in range(2)]
        assert all(abs(a - b) <= 1 for a, b in zip(read, red)), (read, red)

    values = [i * 0.1 for i in range(-50, 50)]
    histogram = events.Histograms("values")[0].histogram_value
    assert histogram.num == 100 and abs(histogram.min + 5) < 1e-5 and abs(histogram.max - 4.9) < 1e-5, histogram
    assert abs(histogram.sum - sum(values)) < 1e-4 and abs(histogram.sum_squares - sum(v * v for v in values)) < 1e-3
    assert sum(histogram.bucket) == 100
    if importlib.util.find_spec("torch"):
        import numpy
        from torch.utils.tensorboard.writer import SummaryWriter
        with tempfile.TemporaryDirectory() as theirs:
            writer = SummaryWriter(theirs)
            writer.add_histogram("values", numpy.arange(-50, 50, dtype=numpy.float32) * numpy.float32(0.1), bins="tensorflow")
            writer.close()
            peer = EventAccumulator(theirs)
            peer.Reload()
            other = peer.Histograms("values")[0].histogram_value
            ours = dict((limit, count) for limit, count in zip(histogram.bucket_limit, histogram.bucket) if count)
            others = dict((limit, count) for limit, count in zip(other.bucket_limit, other.bucket) if count)
            assert ours.keys() == others.keys() and list(ours.values()) == list(others.values()), (ours, others)

    texts = [event.tensor_proto.string_val[0].decode() for event in events.Tensors("note/text_summary")]
    assert texts == ["epoch **0**", "epoch **1**"], texts
    (row,) = hparams_rows(folder)
    assert row[0]["hidden"].number_value == 8 and "train_loss" in row[1], row

    graph = events.Graph()
    nodes = {node.name: node for node in graph.node}
    weight = nodes["Net/net/0/weight"]
    shape = lambda node: [dim.size for dim in node.attr["_output_shapes"].list.shape[0].dim]
    assert shape(weight) == [8, 4] and weight.op == "Parameter", weight
    assert nodes["Net/net/0/Linear"].op == "Linear" and shape(nodes["Net/net/0/Linear"]) == [5, 8]
    assert set(nodes["Net/net/0/Linear"].input) == {"Net/net/0/weight", "Net/net/0/bias"}
    assert list(nodes["Net/net/1/Tanh"].input) == ["Net/net/0/Linear"]
    assert nodes["Net/net/3/Linear"].input[0] == "Net/net/2/Dropout" and shape(nodes["Net/net/3/Linear"]) == [5, 1]
    assert all(name in nodes for node in graph.node for name in node.input)

print("TensorBoard read", len(written), "metrics, the text and the hyperparameters")

"""MLflowLogger against a real MLflow server, and against one that is away, hangs or answers garbage.

Usage: python mlflow_test.py LEVIN_PROGRAM. Without the package mlflow the part with the real server is left out, and the test
exits 77 (skipped) after the others. mlflow_server.py says where the package is looked for.
"""
import json, os, pathlib, shutil, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from mlflow_server import FakeServer, RealServer, free_port, mlflow_python

os.environ["NO_PROXY"] = "127.0.0.1"
for name in ("MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME"):
    os.environ.pop(name, None)


def fit(folder, logger, *words, code=0, name="run", steps=8):
    """Trains a small classifier and returns what the program printed."""
    command = [sys.argv[1], "fit", "--model.class", "ImageClassifier", "--data.class", "SyntheticDigits", "--model.net", "mlp",
               "--data.train-size", "64", "--data.val-size", "32", "--data.batch-size", "16", "--model.optimizer.class", "SGD",
               "--max-steps", str(steps), "--log-every-n-steps", "1", "--default-root-dir", str(folder), "--name", name,
               "--accelerator", "cpu", "--enable-progress-bar", "false",
               "--logger", json.dumps([{"class": "MLflowLogger", **logger}, "JSONLinesLogger"]), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stderr + done.stdout


def logged(run):
    """What JSONLinesLogger wrote: the points of each metric."""
    points = {}
    for line in open(run / "metrics.jsonl"):
        row = json.loads(line)
        for key, value in row.items():
            if key not in ("step", "wall_seconds"):
                points.setdefault(key, []).append((row["step"], float(value)))
    return points


def check_points(read, written):
    for name, points in written.items():
        # An epoch number may come twice with the same step: of training's row and of validation's.
        mine, theirs = sorted(read(name)), sorted(points)
        if name == "epoch":
            mine, theirs = sorted(set(mine)), sorted(set(theirs))
        assert repr(mine) == repr(theirs), (name, mine, theirs)


def wrong_options(folder):
    text = fit(folder, {}, code=2)
    assert "MLflowLogger.tracking_uri: set it, or the variable MLFLOW_TRACKING_URI" in text, text
    for uri in ("ftp://host", "mlruns", "http://"):
        text = fit(folder, {"tracking_uri": uri}, code=2)
        assert "MLflowLogger.tracking_uri: expected a URL such as http://127.0.0.1:5000" in text, text
    text = fit(folder, {"tracking_uri": "http://127.0.0.1:1", "tags": {"a": 1}}, code=2)
    assert "tags: expected an object of names and texts" in text, text
    text = fit(folder, {"tracking_uri": "http://127.0.0.1:1", "experiment": "x"}, code=2)
    assert "experiment" in text, text


def away_and_back(folder):
    """Training goes on while there is no server; the next run beside it sends what waits, once."""
    port = free_port()
    options = {"tracking_uri": f"http://user:secret@127.0.0.1:{port}", "timeout_seconds": 1}
    text = fit(folder, options)
    assert text.count("MLflowLogger: http://127.0.0.1:") == 1 and "is sent when the server is back" in text, text
    first = folder / "run" / "version_0"
    assert "secret" not in open(first / "mlflow.json").read()
    assert "keeps what could not be sent" in text, text
    server = FakeServer(port=port)
    text = fit(folder, options)
    server.close()
    assert f"sent what waited in {first}" in text, text
    assert len(server.runs) == 2, server.runs.keys()
    for name in ("version_0", "version_1"):
        run = server.runs[json.load(open(folder / "run" / name / "mlflow.json"))["run_id"]]
        assert run["info"]["status"] == "FINISHED", run["info"]
        assert run["params"]["net"] == "mlp", run["params"]
        read = lambda metric: [(step, float(value)) for key, step, value in run["rows"] if key == metric]
        check_points(read, logged(folder / "run" / name))


def misbehaving(folder):
    """A server that hangs, answers garbage or fails never stops a fit; a resumed run continues and loses nothing."""
    for mode in ("hang", "garbage", "error", "page"):
        here = folder / mode
        server = FakeServer(mode=mode)
        options = {"tracking_uri": server.uri, "timeout_seconds": 1}
        text = fit(here, options, steps=5)
        assert "fit completed" in text and text.count("is sent when the server is back") == 1, (mode, text)
        assert server.calls[mode] >= 1, (mode, server.calls)
        run = here / "run" / "version_0"
        before = logged(run)
        server.mode = "ok"
        server.released.set()
        fit(here, options, "--ckpt-path", str(run), steps=9)
        server.close()
        (known,) = server.runs.values()
        assert known["info"]["status"] == "FINISHED"
        read = lambda metric: [(step, float(value)) for key, step, value in known["rows"] if key == metric]
        written = logged(run)
        assert len(written["train_loss"]) == 9 and written["train_loss"][:5] == before["train_loss"], written
        check_points(read, written)


def lost_answer(folder):
    """The server makes the run, but its answer does not arrive: there is still one run."""
    server = FakeServer()
    options = {"tracking_uri": server.uri, "timeout_seconds": 1}
    server.experiments["lightning_logs"] = "1"
    original = server.do

    def losing(path, body):
        if path.endswith("runs/create"):
            server.mode = "lost"
        return original(path, body)

    server.do = losing
    fit(folder, options, steps=5)
    fit(folder, options, "--ckpt-path", str(folder / "run" / "version_0"), steps=9)
    server.close()
    assert len(server.runs) == 1, server.runs
    (known,) = server.runs.values()
    read = lambda metric: [(step, float(value)) for key, step, value in known["rows"] if key == metric]
    check_points(read, logged(folder / "run" / "version_0"))


def artifact_location(folder):
    """An experiment that is made gets the location of its artifacts, and one that exists is left as it is."""
    server = FakeServer()
    options = {"tracking_uri": server.uri, "timeout_seconds": 1}
    fit(folder, {**options, "experiment_name": "plain"}, steps=2)
    for place in ("s3://bucket/first", "s3://bucket/second"):
        fit(folder, {**options, "experiment_name": "placed", "artifact_location": place}, steps=2)
    server.close()
    assert server.artifact_locations == {"plain": None, "placed": "s3://bucket/first"}, server.artifact_locations


def broken_files(folder):
    """Facts that are no JSON: the logger is left out with what to do, and the fit goes on."""
    server = FakeServer()
    options = {"tracking_uri": server.uri, "timeout_seconds": 1}
    fit(folder, options, steps=5)
    run = folder / "run" / "version_0"
    (run / "mlflow.json").write_text("{ broken")
    text = fit(folder, options, "--ckpt-path", str(run), steps=9)
    server.close()
    assert "mlflow.json: expected the facts about a run of MLflow; move the file away" in text and "fit completed" in text, text


def real_server(folder, python):
    server = RealServer(python, folder)
    try:
        options = {"tracking_uri": server.uri, "experiment_name": "digits & co", "run_name": "first", "prefix": "a",
                   "tags": {"team": "vision"}, "log_model": True}
        callbacks = [{"class": "SampleImages", "source": "batch"}, {"class": "ModelCheckpoint", "save_top_k": -1}]
        images = ("--callbacks", json.dumps(callbacks))
        text = fit(folder, options, *images)
        assert "MLflowLogger" not in text, text
        (run,) = server.runs("digits & co")
        version = folder / "run" / "version_0"
        info, data = run["info"], run["data"]
        assert info["status"] == "FINISHED" and info["run_name"] == "first" and int(info["end_time"]) >= int(info["start_time"])
        assert json.load(open(version / "mlflow.json"))["run_id"] == info["run_id"]
        parameters = {item["key"]: item["value"] for item in data["params"]}
        assert parameters["net"] == "mlp" and parameters["optimizer/class"] == "SGD", parameters
        assert {item["key"]: item["value"] for item in data["tags"]}["team"] == "vision"
        read = lambda name: server.history(info["run_id"], name if name == "epoch" else "a-" + name)
        check_points(read, logged(version))
        checkpoints = sorted((version / "checkpoints").glob("*.ckpt"))
        assert len(checkpoints) >= 2, checkpoints
        for checkpoint in checkpoints:
            assert checkpoint.name == "last.ckpt" or server.artifact(run, f"model/checkpoints/{checkpoint.name}") == checkpoint.read_bytes()
        assert server.artifact(run, "images/samples/step=4.png").startswith(b"\x89PNG")

        # Rows behind the checkpoint are on the server already when the run goes back to it: they are not sent again.
        for checkpoint in checkpoints[1:]:
            checkpoint.unlink()
        text = fit(folder, options, "--ckpt-path", str(version), "--model.optimizer.lr", "0.02", *images, steps=12)
        assert "refuses the parameter optimizer/lr" in text and text.count("MLflowLogger") == 1, text
        (run,) = server.runs("digits & co")
        assert run["info"]["run_id"] == info["run_id"] and run["info"]["status"] == "FINISHED"
        steps = [step for step, _ in server.history(info["run_id"], "a-train_loss")]
        assert sorted(steps) == list(range(1, 13)), steps

        # A failed run, values that are not finite, and a run given by its id.
        options = {"tracking_uri": server.uri, "experiment_name": "digits & co", "run_id": info["run_id"]}
        fit(folder, options, "--model.optimizer.lr", "1e30", "--callbacks", "TerminateOnNaN", name="failing", steps=12, code=1)
        (run,) = server.runs("digits & co")
        assert run["info"]["status"] == "FAILED", run["info"]
        assert "TerminateOnNaN" in {item["key"]: item["value"] for item in run["data"]["tags"]}["levin.error"]
        options = {"tracking_uri": server.uri, "experiment_name": "broken"}
        fit(folder, options, "--model.optimizer.lr", "1e30", name="nan", steps=6)
        (run,) = server.runs("broken")
        check_points(lambda name: server.history(run["info"]["run_id"], name), logged(folder / "nan" / "version_0"))
        values = [value for _, value in server.history(run["info"]["run_id"], "train_loss")]
        assert any(value != value for value in values), values

        # The real server is away for a while.
        port = server.port
        server.close()
        options = {"tracking_uri": server.uri, "experiment_name": "later", "timeout_seconds": 5}
        text = fit(folder, options, name="later")
        assert "is sent when the server is back" in text, text
        server = RealServer(python, folder, port)
        fit(folder, options, "--ckpt-path", str(folder / "later" / "version_0"), name="later", steps=10)
        (run,) = server.runs("later")
        check_points(lambda name: server.history(run["info"]["run_id"], name), logged(folder / "later" / "version_0"))
    finally:
        server.close()


python = mlflow_python()
for part in (wrong_options, away_and_back, misbehaving, lost_answer, artifact_location, broken_files, real_server):
    with tempfile.TemporaryDirectory() as folder:
        if part is real_server and python is None:
            print("skipped: no Python has mlflow; scripts/setup --tests installs it")
            sys.exit(77)
        part(pathlib.Path(folder), *([python] if part is real_server else []))
        print(part.__name__, "holds")

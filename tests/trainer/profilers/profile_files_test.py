"""The files of profilers: traces by the schema of their format, of each rank, and of runs that are killed.

Usage: python profile_files_test.py LEVIN_PROGRAM TRACE_SCHEMA.
"""
import json, pathlib, random, subprocess, sys, tempfile, time

try:
    import jsonschema
except ImportError:
    print("SKIPPED: this Python has no jsonschema (scripts/setup --tests installs it)")
    sys.exit(77)

program, schema = sys.argv[1:]
validator = jsonschema.Draft202012Validator(json.loads(pathlib.Path(schema).read_text()))


def command(folder, *more):
    return [program, "fit", "--model.class", "ImageClassifier", "--data.class", "SyntheticDigits", "--model.net", "mlp",
            "--model.optimizer.class", "SGD", "--model.optimizer.lr", "0.1", "--data.batch_size", "32", "--limit-val-batches", "2",
            "--default-root-dir", folder, "--name", "run", "--accelerator", "cpu", "--enable-progress-bar", "false", *more]


def checked(path):
    trace = json.loads(path.read_text())
    errors = [f"{path.name}: {list(error.path)}: {error.message}" for error in validator.iter_errors(trace)]
    assert not errors, errors[:3]
    return trace


def names(trace, category):
    return [event["name"] for event in trace["traceEvents"] if event["ph"] == "X" and event["cat"] == category]


assert not validator.is_valid({"traceEvents": []}) and not validator.is_valid({"traceEvents": [{"ph": "X", "name": "a"}]})

with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run(command(folder, "--max-steps", "8", "--data.num_workers", "1", "--profiler", "trace"),
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "open it at ui.perfetto.dev" in done.stderr, done.stderr
    trace = checked(pathlib.Path(folder) / "run" / "version_0" / "fit-trace-cycle1.json")
    assert names(trace, "step") == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"], names(trace, "step")
    assert names(trace, "levin").count("run_training_batch") == 3
    print("a trace of", len(trace["traceEvents"]), "events is as the schema says")

# One file for each rank; rank 0 prints.
for profiler, endings in (("trace", ["-cycle1.json"]), ("simple", [".txt", ".json"]), ("memory", [".txt", ".json"])):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command(folder, "--max-steps", "6", "--strategy", "ddp", "--devices", "2", "--num-threads", "1",
                                      "--profiler", profiler), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        run = pathlib.Path(folder) / "run" / "version_0"
        for rank in (0, 1):
            stem = f"fit-{profiler}" + (f"-rank{rank}" if rank else "")
            for ending in endings:
                assert (run / (stem + ending)).exists(), (stem + ending, sorted(run.iterdir()))
            if profiler == "trace":
                trace = checked(run / (stem + endings[0]))
                assert {event["pid"] for event in trace["traceEvents"]} == {rank}
            else:
                profile = json.loads((run / (stem + ".json")).read_text())
                assert (profile["rank"], profile["world_size"]) == (rank, 2), profile
                actions = {action["action"] for action in profile["actions"]}
                assert "[Strategy]DDPStrategy.backward" in actions, actions
        title = {"trace": "trace of 1 cycle", "simple": "FIT Profiler Report", "memory": "FIT Memory Report"}[profiler]
        assert done.stderr.count(title) == 1, done.stderr
    print(profiler, "under ddp: a profile of each rank")

# A run that is killed leaves whole traces or none.
random.seed(5)
for attempt in range(4):
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run" / "version_0"
        process = subprocess.Popen(command(folder, "--max-epochs", "1000", "--profiler", "trace", "--profiler.wait", "0",
                                           "--profiler.warmup", "0", "--profiler.active", "3", "--profiler.repeat", "0"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 120
        while len(list(run.glob("fit-trace-cycle*.json"))) < 2:
            assert process.poll() is None and time.monotonic() < until, (process.poll(), sorted(run.glob("*")))
            time.sleep(0.01)
        time.sleep(random.random() * 0.2)
        process.kill()
        process.wait()
        traces = sorted(run.glob("*.json"))
        cycles = [path for path in traces if path.name.startswith("fit-trace")]
        for path in cycles:
            assert len(names(checked(path), "step")) == 3, path
        print("killed with", len(cycles), "traces, all whole")

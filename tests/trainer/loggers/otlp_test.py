"""OtlpLogger against a collector in this test that reads requests by OpenTelemetry's own messages, and beside the SDK's exporter.

Usage: python otlp_test.py LEVIN_PROGRAM. Exits 77 (skipped) without the package opentelemetry-proto, which comes with mlflow.
"""
import http.server, json, math, os, pathlib, subprocess, sys, tempfile, threading, time

SECRET = "t0ps3cret,%"
for variable in [name for name in os.environ if name.startswith("OTEL_")]:
    del os.environ[variable]
os.environ["NO_PROXY"] = "127.0.0.1"

try:
    from google.protobuf import json_format
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
except ImportError:
    python = pathlib.Path(sys.prefix) / "services" / "bin" / "python"
    if not python.exists() or os.environ.get("LEVIN_OTLP_TEST"):
        print("skipped: there is no opentelemetry-proto; scripts/setup --tests installs it with mlflow")
        sys.exit(77)
    os.environ["LEVIN_OTLP_TEST"] = "1"
    os.execv(str(python), [str(python), *sys.argv])


class Collector:
    """Keeps requests it takes; answers with the statuses given, and `then` after them. status 0: no answer until `released`."""

    def __init__(self, *statuses, then=200, body=b"{}"):
        self.requests, self.tried, statuses = [], 0, list(statuses)
        self.released = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                content = self.rfile.read(int(self.headers["Content-Length"]))
                outer.tried += 1
                status = statuses.pop(0) if statuses else then
                if status == 0:
                    outer.released.wait(60)
                    return
                if status == 200:
                    outer.requests.append((self.path, dict(self.headers), json_format.Parse(content, ExportMetricsServiceRequest())))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def points(self):
        """Returns the values of each metric in the order of their times."""
        found = {}
        for _, _, request in self.requests:
            for resource in request.resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        assert metric.WhichOneof("data") == "gauge", metric
                        found.setdefault(metric.name, []).extend((p.time_unix_nano, p.as_double) for p in metric.gauge.data_points)
        return {name: [value for _, value in sorted(points)] for name, points in found.items()}


def fit(folder, *words, logger={}, environment={}, code=0, steps=6):
    command = [sys.argv[1], "fit", "--model.class", "ImageClassifier", "--data.class", "SyntheticDigits", "--model.net", "mlp",
               "--data.train-size", "64", "--data.batch-size", "16", "--data.val-size", "32", "--model.optimizer.class", "SGD",
               "--log-every-n-steps", "1", "--max-steps", str(steps), "--default-root-dir", str(folder), "--name", "run",
               "--accelerator", "cpu", "--enable-progress-bar", "false",
               "--logger", json.dumps([{"class": "OtlpLogger", **logger}, "JSONLinesLogger"]), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment})
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stderr + done.stdout


def logged(folder):
    """Returns what metrics.jsonl has, by the names that the collector gets."""
    found = {}
    for line in (folder / "run" / "version_0" / "metrics.jsonl").read_text().splitlines():
        for name, value in json.loads(line).items():
            if name != "wall_seconds":
                found.setdefault(f"levin.{name}", []).append(float(value))
    return found


def same(a, b):
    return a.keys() == b.keys() and all(
        len(a[name]) == len(b[name]) and all(x == y or (math.isnan(x) and math.isnan(y)) for x, y in zip(a[name], b[name])) for name in a)


def sends_all(folder):
    collector = Collector()
    text = fit(folder, "--model.optimizer.lr", "1e30", logger={"service_name": "digits"}, steps=12, environment={
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.address + "/base/", "OTEL_SERVICE_NAME": "other",
        "OTEL_RESOURCE_ATTRIBUTES": "team=vision%20lab,host.name=here",
        "OTEL_EXPORTER_OTLP_HEADERS": "api-key=t0ps3cret%2C%25"})
    collector.close()
    rows = logged(folder)
    assert any(math.isnan(value) for value in rows["levin.train_loss"]), "a value that is not finite is among them"
    assert same(collector.points(), rows), (collector.points(), rows)
    for path, headers, request in collector.requests:
        assert path == "/base/v1/metrics" and headers["Content-Type"] == "application/json", (path, headers)
        assert headers["api-key"] == SECRET, headers
        (resource,) = request.resource_metrics
        attributes = {one.key: one.value.string_value for one in resource.resource.attributes}
        assert attributes == {"team": "vision lab", "host.name": "here", "service.name": "digits",
                              "levin.run": str(folder / "run" / "version_0")}, attributes
        (scope,) = resource.scope_metrics
        assert scope.scope.name == "levin"
        assert all(abs(point.time_unix_nano / 1e9 - time.time()) < 300 for metric in scope.metrics for point in metric.gauge.data_points)
    assert "OtlpLogger" not in text and "t0ps3cret" not in text, text
    for file in folder.rglob("*"):
        assert not file.is_file() or b"t0ps3cret" not in file.read_bytes(), file


def reads_variables_as_the_sdk_does(folder):
    """Paths, headers and timeouts are those of OpenTelemetry's own exporter."""
    for number, variables in enumerate(({"ENDPOINT": "/", "HEADERS": "a=1, b = 2%203 "}, {"METRICS_ENDPOINT": "/own", "ENDPOINT": "/not"},
                      {"ENDPOINT": "/x", "HEADERS": "a=1,b=2", "METRICS_HEADERS": "b=3=4"})):
        collector = Collector()
        environment = {f"OTEL_EXPORTER_OTLP_{name}": (collector.address if "ENDPOINT" in name else "") + text
                       for name, text in variables.items()}
        os.environ.update(environment)
        exporter = OTLPMetricExporter()
        fit(folder / str(number))
        for name in environment:
            del os.environ[name]
        collector.close()
        (path, headers, _), *_ = collector.requests
        assert collector.address + path == exporter._endpoint, (path, exporter._endpoint)
        expected = {name: text for name, text in exporter._client._headers.items() if name in ("a", "b")}
        assert bool(expected) == ("HEADERS" in variables), exporter._client._headers
        assert {name: text for name, text in headers.items() if name in ("a", "b")} == expected, (headers, expected)


def sends_again(folder):
    collector = Collector(503, 429)
    text = fit(folder, logger={"endpoint": collector.address + "/v1/metrics"})
    collector.close()
    assert same(collector.points(), logged(folder)), collector.points()
    assert text.count("OtlpLogger") == 1 and "127.0.0.1: the server answers 503" in text and "lost" not in text, text


def sends_in_batches(folder):
    """Rows go out while the run lasts, a request for many rows."""
    collector = Collector()
    fit(folder, logger={"endpoint": collector.address, "prefix": "", "export_seconds": 0.2}, steps=1000)
    collector.close()
    rows = {name.removeprefix("levin."): values for name, values in logged(folder).items()}
    assert same(collector.points(), rows)
    assert 3 <= len(collector.requests) < 250, len(collector.requests)


def never_stops_a_fit(folder):
    for status, reason in ((500, "the server answers 500"), (400, "the server answers 400"), (503, "the server answers 503"), (0, "imed out")):
        collector = Collector(then=status)
        begin = time.monotonic()
        text = fit(folder, logger={"endpoint": collector.address, "patience_seconds": 4}, environment={"OTEL_EXPORTER_OTLP_TIMEOUT": "500"})
        collector.close()
        assert "fit completed" in text and reason in text and "rows are lost" in text, (status, text)
        assert collector.requests == [] and time.monotonic() - begin < 30, status
        assert (collector.tried == 1) == (status in (400, 500)), (status, collector.tried)
    collector = Collector(then=0)  # the end of the fit waits no longer than the request
    text = fit(folder, logger={"endpoint": collector.address, "patience_seconds": 1})
    collector.close()
    rows = len((folder / "run" / f"version_{len(list((folder / 'run').iterdir())) - 1}" / "metrics.jsonl").read_text().splitlines())
    assert rows > 1 and f"{rows} rows are lost" in text, (rows, text)
    text = fit(folder, logger={"endpoint": "http://user:t0ps3cret@127.0.0.1:1/x"})
    assert "fit completed" in text and "rows are lost" in text, text
    collector = Collector(body=b'{"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "too old"}}')
    text = fit(folder, logger={"endpoint": collector.address})
    collector.close()
    assert "the collector leaves out 3 values: too old" in text and "lost" not in text, text


def wrong_settings(folder):
    for variables, error in (({"ENDPOINT": "collector:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT: expected a URL"),
                             ({"PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"), ({"TIMEOUT": "10s"}, "OTEL_EXPORTER_OTLP_TIMEOUT: expected milli"),
                             ({"HEADERS": "t0ps3cret"}, "OTEL_EXPORTER_OTLP_HEADERS: entry 1 is no name=value"),
                             ({"HEADERS": "a=t0ps3cret%0D%0Ab"}, "OTEL_EXPORTER_OTLP_HEADERS: the header 1 is none")):
        text = fit(folder, environment={f"OTEL_EXPORTER_OTLP_{name}": value for name, value in variables.items()}, code=2)
        assert error in text and "t0ps3cret" not in text, (variables, text)


for part in (sends_all, reads_variables_as_the_sdk_does, sends_again, sends_in_batches, never_stops_a_fit, wrong_settings):
    with tempfile.TemporaryDirectory() as name:
        part(pathlib.Path(name).resolve())
        print(part.__name__, "holds", flush=True)

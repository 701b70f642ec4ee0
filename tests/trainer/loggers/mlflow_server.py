"""Servers for the tests of MLflowLogger: a real one from the package mlflow, and a small one that can misbehave."""
import collections, http.server, json, os, pathlib, re, socket, subprocess, sys, threading, time, urllib.parse, urllib.request


def mlflow_python():
    """The Python that has mlflow, which scripts/setup --tests installs apart; None if there is none."""
    for python in (os.environ.get("LEVIN_MLFLOW_PYTHON"), pathlib.Path(sys.prefix) / "services" / "bin" / "python", sys.executable):
        if python and pathlib.Path(python).exists():
            found = subprocess.run([str(python), "-c", "import mlflow.server"], capture_output=True)
            if found.returncode == 0:
                return str(python)
    return None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class RealServer:
    """`mlflow server` with a database and artifacts in a folder."""

    def __init__(self, python, folder, port=None):
        self.port = port or free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        self.log = open(pathlib.Path(folder) / "mlflow.log", "ab")
        environment = {**os.environ, "GIT_PYTHON_REFRESH": "quiet", "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
        self.process = subprocess.Popen(
            [python, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port), "--workers", "1",
             "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", f"{folder}/artifacts"],
            stdout=self.log, stderr=self.log, env=environment, start_new_session=True)
        for _ in range(600):
            try:
                urllib.request.urlopen(self.uri + "/health", timeout=5).read()
                return
            except OSError:
                assert self.process.poll() is None, open(pathlib.Path(folder) / "mlflow.log").read()
                time.sleep(0.2)
        raise AssertionError("the server of mlflow does not start: " + open(pathlib.Path(folder) / "mlflow.log").read())

    def call(self, name, body=None, query=""):
        url = f"{self.uri}/api/2.0/mlflow/{name}{'?' + query if query else ''}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request, timeout=60))

    def experiment_id(self, name):
        return self.call("experiments/get-by-name", query="experiment_name=" + urllib.parse.quote(name))["experiment"]["experiment_id"]

    def runs(self, experiment):
        return self.call("runs/search", {"experiment_ids": [self.experiment_id(experiment)]}).get("runs", [])

    def history(self, run_id, metric):
        query = urllib.parse.urlencode({"run_id": run_id, "metric_key": metric, "max_results": 10000})
        return [(int(point.get("step", 0)), float(point["value"])) for point in
                self.call("metrics/get-history", query=query).get("metrics", [])]

    def artifact(self, run, path):
        root = run["info"]["artifact_uri"].removeprefix("mlflow-artifacts:/")
        url = f"{self.uri}/api/2.0/mlflow-artifacts/artifacts/{root}/{urllib.parse.quote(path)}"
        return urllib.request.urlopen(url, timeout=60).read()

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, 9)
        self.process.wait()
        self.log.close()


class FakeServer:
    """The part of MLflow's API that the logger calls, kept in memory. `mode`: ok, garbage, error (500), hang, page (a web page
    with status 404), lost (does what it is asked and closes the connection without an answer)."""

    def __init__(self, mode="ok", port=0):
        self.mode, self.calls = mode, collections.Counter()
        self.runs, self.experiments, self.artifact_locations = {}, {}, {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, status, body, kind="application/json"):
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def handle_call(self):
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size)
                outer.calls[outer.mode] += 1
                if outer.mode == "hang":
                    outer.released.wait(120)
                    return
                if outer.mode == "garbage":
                    return self.answer(200, b"\x00\xff{]<html>", "application/json")
                if outer.mode == "page":
                    return self.answer(404, b"<html>no such page</html>", "text/html")
                if outer.mode == "error":
                    return self.answer(500, {"error_code": "INTERNAL_ERROR", "message": "broken"})
                status, result = outer.do(self.path, json.loads(body or b"{}"))
                if outer.mode == "lost":
                    outer.mode = "ok"
                    self.close_connection = True
                    return
                self.answer(status, result)

            do_GET = do_POST = do_PUT = handle_call

        self.released = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.uri = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def do(self, path, body):
        url = urllib.parse.urlparse(path)
        name = url.path.removeprefix("/api/2.0/mlflow/")
        query = dict(urllib.parse.parse_qsl(url.query))
        missing = 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "none"}
        if name == "experiments/get-by-name":
            found = self.experiments.get(query["experiment_name"])
            return (200, {"experiment": {"experiment_id": found, "lifecycle_stage": "active"}}) if found else missing
        if name == "experiments/create":
            self.artifact_locations[body["name"]] = body.get("artifact_location")
            return 200, {"experiment_id": self.experiments.setdefault(body["name"], str(len(self.experiments) + 1))}
        if name == "runs/create":
            run_id = f"run{len(self.runs)}"
            self.runs[run_id] = {"info": {"run_id": run_id, "status": "RUNNING", "artifact_uri": "file:///elsewhere"},
                                 "tags": {tag["key"]: tag["value"] for tag in body["tags"]}, "rows": [], "params": {}}
            return 200, {"run": {"info": self.runs[run_id]["info"]}}
        if name == "runs/search":
            wanted = re.fullmatch(r"tags\.`levin\.id` = '(\w+)'", body["filter"])[1]
            return 200, {"runs": [{"info": run["info"]} for run in self.runs.values() if run["tags"].get("levin.id") == wanted]}
        run = self.runs.get(body.get("run_id") or query.get("run_id"))
        if run is None:
            return missing
        if name == "runs/get":
            return 200, {"run": {"info": run["info"]}}
        if name == "runs/log-batch":
            run["rows"] += [(metric["key"], metric["step"], metric["value"]) for metric in body.get("metrics", [])]
            run["params"].update({param["key"]: param["value"] for param in body.get("params", [])})
        elif name == "runs/set-tag":
            run["tags"][body["key"]] = body["value"]
        elif name == "runs/update":
            run["info"]["status"] = body["status"]
        else:
            return 404, {"error_code": "ENDPOINT_NOT_FOUND", "message": name}
        return 200, {}

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

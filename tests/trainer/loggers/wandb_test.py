"""`wandb sync` of the real package accepts what WandbLogger writes, and sends every row, to a small server in this test.

Usage: python wandb_test.py LEVIN_PROGRAM. Exits 77 (skipped) without the package wandb, which scripts/setup --tests installs apart.
"""
import gzip, http.server, json, math, os, pathlib, subprocess, sys, tempfile, threading

os.environ["NO_PROXY"] = "127.0.0.1"
wandb = next((path for path in (os.environ.get("LEVIN_WANDB"), pathlib.Path(sys.prefix) / "services" / "bin" / "wandb")
              if path and pathlib.Path(path).exists()), None)
if wandb is None:
    print("skipped: there is no wandb; scripts/setup --tests installs it")
    sys.exit(77)


class Server:
    """The part of the server's API that a sync needs: the run, its config, and the rows of its history."""

    def __init__(self):
        self.rows, self.summary, self.run, self.exit_code, self.entities = [], {}, {}, None, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def handle_call(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                answer = json.dumps(outer.answer(self.path, body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_PUT = handle_call

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.uri = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, body):
        if path.endswith("/file_stream"):
            told = json.loads(body)
            files = told.get("files", {})
            self.rows += [json.loads(line) for line in files.get("wandb-history.jsonl", {}).get("content", [])]
            for line in files.get("wandb-summary.json", {}).get("content", []):
                self.summary = json.loads(line)
            self.exit_code = told.get("exitcode", self.exit_code)
            return {}
        if path != "/graphql":
            return {}
        asked = json.loads(body)
        if "upsertBucket" in asked["query"]:
            self.entities.append(asked["variables"].get("entity"))
            self.run.update({name: value for name, value in asked["variables"].items() if value is not None})
            return {"data": {"upsertBucket": {"inserted": True, "bucket": {
                "id": "1", "name": self.run["name"], "displayName": self.run.get("displayName"), "config": "{}", "historyLineCount": 0,
                "sweepName": None, "project": {"id": "1", "name": self.run["project"], "entity": {"id": "1", "name": "me"}}}}}}
        if "createRunFiles" in asked["query"]:
            files = [{"name": name, "uploadUrl": self.uri + "/upload"} for name in asked["variables"]["files"]]
            return {"data": {"createRunFiles": {"runID": "1", "uploadHeaders": [], "files": files}}}
        return {"data": {"viewer": {"id": "1", "entity": "me", "username": "me", "flags": "{}", "teams": {"edges": []}},
                         "serverInfo": {"cliVersionInfo": {"max_cli_version": "9.9.9"}, "features": []}}}

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def fit(folder, logger, *words, code=0, steps=8):
    command = [sys.argv[1], "fit", "--model.class", "ImageClassifier", "--data.class", "SyntheticDigits", "--model.net", "mlp",
               "--data.train-size", "64", "--data.val-size", "32", "--data.batch-size", "16", "--model.optimizer.class", "SGD",
               "--max-steps", str(steps), "--log-every-n-steps", "1", "--default-root-dir", str(folder), "--name", "run",
               "--accelerator", "cpu", "--enable-progress-bar", "false",
               "--logger", json.dumps([{"class": "WandbLogger", **logger}, "JSONLinesLogger"]), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stderr + done.stdout


def sync(run, *words):
    (folder,) = (run / "wandb").glob("offline-run-*")
    server = Server()
    environment = {**os.environ, "WANDB_BASE_URL": server.uri, "WANDB_API_KEY": "a" * 40, "HOME": str(run),
                   "WANDB_ERROR_REPORTING": "false"}
    done = subprocess.run([str(wandb), "sync", *words, str(folder)], capture_output=True, text=True, timeout=300, env=environment, cwd=run)
    server.close()
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "Finished syncing" in said, said
    return server


def check_rows(server, run, prefix=""):
    written = [json.loads(line) for line in open(run / "metrics.jsonl")]
    assert len(server.rows) == len(written), (len(server.rows), len(written))
    for number, (sent, row) in enumerate(zip(server.rows, written)):
        assert sent["_step"] == number and sent["trainer/global_step"] == row["step"] and sent["epoch"] == row["epoch"], sent
        for name, value in row.items():
            if name in ("step", "epoch", "wall_seconds"):
                continue
            got, value = float(sent[prefix + name]), float(value)
            assert got == value or (math.isnan(got) and math.isnan(value)), (name, sent, row)
    assert server.summary["trainer/global_step"] == written[-1]["step"], server.summary


with tempfile.TemporaryDirectory() as folder:
    options = {"project": "digits", "name": "first", "id": "abc-1", "group": "small", "job_type": "train", "tags": ["a", "b"],
               "notes": "a note", "prefix": "m", "entity": "team"}
    fit(folder, options)
    run = pathlib.Path(folder) / "run" / "version_0"
    server = sync(run)
    check_rows(server, run, "m-")
    told = server.run
    assert (told["name"], told["project"], told["displayName"]) == ("abc-1", "digits", "first"), told
    assert told["notes"] == "a note", told
    assert server.entities[0] == "team", server.entities  # the server answers with another one
    assert told["groupName"] == "small" and told["jobType"] == "train" and told["tags"] == ["a", "b"], told
    config = json.loads(told["config"])
    assert config["net"]["value"] == "mlp" and config["optimizer"]["value"]["class"] == "SGD", config
    assert server.exit_code == 0

    fit(folder, options, "--ckpt-path", str(run), steps=12)
    server = sync(run, "--no-skip-synced")
    check_rows(server, run, "m-")
    assert server.rows[-1]["trainer/global_step"] == 12 and server.exit_code == 0

with tempfile.TemporaryDirectory() as folder:
    fit(folder, {}, "--model.optimizer.lr", "1e30")
    run = pathlib.Path(folder) / "run" / "version_0"
    server = sync(run)
    check_rows(server, run)
    fit(folder, {}, "--model.optimizer.lr", "1e30", "--callbacks", "TerminateOnNaN", code=1)
    assert sync(pathlib.Path(folder) / "run" / "version_1").exit_code == 1
    text = fit(folder, {"id": "a/b"}, code=2)
    assert "WandbLogger.id: expected letters, digits, _ and -" in text, text
print("wandb sync sent every row")

"""WebhookLogger tells a server of a run's start, end, failure and new best values, and never stops a fit.

Usage: python webhook_test.py LEVIN_PROGRAM
"""
import hashlib, hmac, http.server, json, os, pathlib, subprocess, sys, tempfile, threading, time

os.environ["NO_PROXY"] = "127.0.0.1"


class Receiver:
    """Keeps the messages; answers with the statuses given, and `then` after them. status 0: no answer until `released`."""

    def __init__(self, *statuses, then=200):
        self.messages, self.tried, statuses = [], 0, list(statuses)
        self.released = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.tried += 1
                status = statuses.pop(0) if statuses else then
                if status == 0:
                    outer.released.wait(60)
                    return
                if status == 200:
                    outer.messages.append((dict(self.headers), body, json.loads(body)))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook?key=1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def events(self):
        return [message["event"] for _, _, message in self.messages]

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


def command_of(folder, logger, *words):
    return [sys.argv[1], "fit", "--model.class", "ImageClassifier", "--data.class", "SyntheticDigits", "--model.net", "mlp",
            "--data.train-size", "64", "--data.batch-size", "16", "--model.optimizer.class", "SGD", "--log-every-n-steps", "1",
            "--default-root-dir", str(folder), "--name", "run", "--accelerator", "cpu", "--enable-progress-bar", "false",
            "--logger", json.dumps([{"class": "WebhookLogger", **logger}, {"class": "JSONLinesLogger"}]), *words]


def fit(folder, logger, *words, code=0, environment={}):
    done = subprocess.run(command_of(folder, logger, "--max-steps", "6", *words), capture_output=True, text=True, timeout=300, env={**os.environ, **environment})
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stderr + done.stdout


def tells_all(folder):
    receiver = Receiver()
    text = fit(folder, {"url": "${env:HOOK}", "monitor": "train_loss", "secret": "${env:KEY}", "headers": ["X-Team: vision"]},
               environment={"HOOK": receiver.url, "KEY": "s3cret"})
    receiver.close()
    assert "WebhookLogger" not in text, text
    run = folder / "run" / "version_0"
    events = receiver.events()
    assert events[0] == "start" and events[-1] == "end" and set(events[1:-1]) == {"best"}, events
    for headers, body, message in receiver.messages:
        expected = "sha256=" + hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
        assert headers["X-Levin-Signature"] == expected and headers["X-Team"] == "vision", headers
        assert headers["Content-Type"] == "application/json"
        assert message["run"] == str(run) and message["text"].startswith("levin on "), message
    assert receiver.messages[0][2]["hyperparameters"]["net"] == "mlp"
    best = [message for _, _, message in receiver.messages if message["event"] == "best"]
    values = [message["value"] for message in best]
    assert values == sorted(values, reverse=True) and all(message["monitor"] == "train_loss" for message in best), best
    end = receiver.messages[-1][2]
    assert end["status"] == "completed" and end["step"] == 6 and min(values) <= end["metrics"]["train_loss"], end
    config = open(run / "config.json").read()
    assert "s3cret" not in config and receiver.url not in config


def tells_the_largest(folder):
    """With mode max, larger values are better."""
    receiver = Receiver()
    fit(folder, {"url": receiver.url, "monitor": "lr-SGD", "mode": "max", "events": ["best"]}, "--callbacks", "LearningRateMonitor",
        "--model.lr_scheduler", '{"class": "LinearLR", "total_iters": 6, "interval": "step"}')
    receiver.close()
    values = [message["value"] for _, _, message in receiver.messages]
    assert len(values) > 1 and values == sorted(values), values


def tells_failures(folder):
    receiver = Receiver()
    fit(folder, {"url": receiver.url, "events": ["failure", "end"]}, "--model.optimizer.lr", "1e30", "--callbacks", "TerminateOnNaN",
        code=1)
    receiver.close()
    assert receiver.events() == ["failure"], receiver.events()
    message = receiver.messages[0][2]
    assert message["status"] == "failed" and "TerminateOnNaN" in message["error"] and message["error"] in message["text"], message


def sends_again(folder):
    receiver = Receiver(503, 500)
    text = fit(folder, {"url": receiver.url, "events": ["end"]})
    receiver.close()
    assert receiver.events() == ["end"] and receiver.tried == 3 and "WebhookLogger" not in text, (receiver.tried, text)


def never_stops_a_fit(folder):
    for status, reason in ((500, "the server answers 500"), (404, "the server answers 404"), (302, "the server answers 302"),
                           (0, "imed out")):
        receiver = Receiver(then=status)
        text = fit(folder, {"url": receiver.url, "monitor": "train_loss", "timeout_seconds": 0.5})
        receiver.close()
        assert "fit completed" in text and text.count("WebhookLogger fails: a message is lost: 127.0.0.1: ") == 1, (status, text)
        assert reason in text, (status, text)
        assert receiver.messages == []
    text = fit(folder, {"url": "http://127.0.0.1:1/x"})
    assert "fit completed" in text and text.count("WebhookLogger fails: a message is lost") == 1, text


def tries_once_after_a_signal(folder):
    receiver = Receiver(then=503)
    command = command_of(folder, {"url": receiver.url, "events": ["end"]}, "--max-epochs", "-1")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while not list(folder.glob("run/*/metrics.jsonl")):
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.05)
    process.terminate()
    text = process.communicate(timeout=120)[0]
    receiver.close()
    assert process.returncode == 143 and receiver.tried == 1, (process.returncode, receiver.tried, text)
    assert list(folder.glob("run/*/checkpoints/*.ckpt")), text


def wrong_options(folder):
    for options, error in (({}, "WebhookLogger.url: set the URL"), ({"url": "chat"}, "WebhookLogger.url: expected a URL"),
                           ({"url": "http://h/x", "headers": ["no colon"]}, "WebhookLogger.headers: expected a header"),
                           ({"url": "http://h/x", "events": ["epoch"]}, "events"), ({"url": "http://h/x", "mode": "least"}, "mode")):
        text = fit(folder, options, code=2)
        assert error in text, (options, text)


for part in (tells_all, tells_the_largest, tells_failures, sends_again, never_stops_a_fit, tries_once_after_a_signal, wrong_options):
    with tempfile.TemporaryDirectory() as folder:
        part(pathlib.Path(folder))
        print(part.__name__, "holds")

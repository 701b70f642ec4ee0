"""A long run of a tiny module with every logger on: all rows arrive everywhere, memory and time per step do not grow.

Usage: python logger_soak.py LOGGER_SOAK LEVIN_PROGRAM [--steps N] [--measure]
  --measure   also asserts that memory is flat to 1 MB from the second tenth on, that the last tenth costs at most 1.02 of the
              second, and that the report takes at most 5 s of CPU; for 100,000 steps or more
"""
import argparse, http.server, json, os, pathlib, subprocess, sys, tempfile, threading, time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from mlflow_server import FakeServer

parser = argparse.ArgumentParser()
parser.add_argument("soak")
parser.add_argument("levin")
parser.add_argument("--steps", type=int, default=5000)
parser.add_argument("--measure", action="store_true")
options = parser.parse_args()
os.environ["NO_PROXY"] = "127.0.0.1"
events = []


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        events.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["event"])
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


hook = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
threading.Thread(target=hook.serve_forever, daemon=True).start()
server = FakeServer()
with tempfile.TemporaryDirectory() as folder:
    begin = time.monotonic()
    done = subprocess.run([options.soak, folder, str(options.steps), server.uri, f"http://127.0.0.1:{hook.server_address[1]}/"],
                          capture_output=True, text=True)
    seconds = time.monotonic() - begin
    assert done.returncode == 0, done.stderr
    assert "fails" not in done.stderr and "warning" not in done.stderr, done.stderr
    told = json.loads(done.stdout.strip().splitlines()[-1])
    run = pathlib.Path(told["folder"])
    assert told["steps"] == options.steps

    # 1000 batches an epoch: rows at every 10th batch, and nothing at an epoch's end.
    rows = options.steps // 10
    csv = (run / "metrics.csv").read_text().splitlines()
    lines = (run / "metrics.jsonl").read_text().splitlines()
    assert len(csv) == rows + 1 and len(lines) == rows, (len(csv), len(lines), rows)
    (known,) = server.runs.values()
    sent = [(step, value) for name, step, value in known["rows"] if name == "train_loss"]
    assert [step for step, _ in sent] == [json.loads(line)["step"] for line in lines]
    assert known["info"]["status"] == "FINISHED"
    assert events[0] == "start" and events[-1] == "end" and "best" in events, events
    # Of an event: 12 bytes of length and checksum before, 4 behind, the time and the step; of a scalar its name and value.
    (event_file,) = run.glob("events.out.tfevents.*")
    per_row = (event_file.stat().st_size - 2000) / rows
    assert 40 < per_row < 90, event_file.stat().st_size
    assert (run / "mlflow_queue.jsonl").stat().st_size <= (1 << 20) + 512 * 1024, "the queue is emptied once it was sent"
    def cpu_seconds():
        times = os.times()
        return times.children_user + times.children_system

    begin, cpu_begin = time.monotonic(), cpu_seconds()
    page = pathlib.Path(folder) / "report.html"
    subprocess.run([options.levin, "report", str(run), "--out", str(page)], check=True, capture_output=True)
    report_seconds, report_cpu, report_bytes = time.monotonic() - begin, cpu_seconds() - cpu_begin, page.stat().st_size
    assert report_bytes <= 5_000_000, report_bytes
    (offline,) = run.glob("wandb/offline-run-*/run-*.wandb")
    assert 200 < offline.stat().st_size / rows < 450, offline.stat().st_size
    named = {"metrics.csv": run / "metrics.csv", "metrics.jsonl": run / "metrics.jsonl", "events": event_file, "wandb": offline,
             "mlflow_queue.jsonl": run / "mlflow_queue.jsonl"}
    sizes = ", ".join(f"{name} {file.stat().st_size / 1e6:.2f} MB" for name, file in named.items())
server.close()
hook.shutdown()

assert len(told["cost"]) == 10
growth = (told["memory_kb"][-1] - told["memory_kb"][1]) / 1024
ratio = told["cost"][9] / told["cost"][1]
print(f"{options.steps} steps in {seconds:.0f} s, {rows} rows; memory from the second tenth to the last {growth:+.2f} MB; the last "
      f"tenth costs {ratio:.4f} of the second in {told['unit']}; report {report_seconds:.1f} s ({report_cpu:.1f} s of CPU), {report_bytes / 1e6:.2f} MB; "
      f"{sizes}")
print("memory in kB:", told["memory_kb"], "cost:", told["cost"])
if options.measure:
    assert max(told["memory_kb"][1:]) - told["memory_kb"][1] <= 1024, told["memory_kb"]
    assert ratio <= 1.02, told["cost"]
    assert report_cpu <= 5, report_cpu

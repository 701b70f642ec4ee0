"""levin serve and levin watch: with urllib, a terminal of its own, and Chromium where there is one. serve_test.py LEVIN"""

import atexit
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
import browser

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
HTML = "<img src=x>"


def row(step):
    return json.dumps({"step": step, "epoch": step // 10, "wall_seconds": step / 7, "val_loss": 1 / step, HTML: "NaN"})


def write_run(folder, rows):
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"id": "0"}')
    (folder / "config.json").write_text(json.dumps({"trainer": {"max_epochs": 9}, "name": HTML}))
    (folder / "metrics.jsonl").write_text("".join(row(step) + "\n" for step in range(1, rows + 1)))


def end(folder, status="completed"):
    (folder / "summary.json").write_text(json.dumps({"status": status, "metrics": {}}))


class Locked:
    """Holds the lock of a run's folder, as the process of a run does."""

    def __init__(self, folder):
        self.file = open(folder / ".lock", "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def release(self):
        self.file.close()


class Server:
    def __init__(self, root, *flags):
        self.process = subprocess.Popen(
            [sys.argv[1], "serve", str(root), "--port", "0", *flags], stdout=subprocess.PIPE, text=True
        )
        atexit.register(self.process.kill)  # also where a check fails
        said = self.process.stdout.readline()
        self.address = re.search(r"at (http://\S+)", said).group(1)
        self.base = self.address.split("/?")[0].rstrip("/")

    def get(self, path, headers=None, method="GET"):
        request = urllib.request.Request(self.base + path, headers=headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))["runs"]


def check_requests(root):
    server = Server(root)
    status, page, headers = server.get("/")
    assert status == 200 and "<h1>Runs</h1>" in page
    assert "default-src 'none'" in headers["Content-Security-Policy"] and headers["Cache-Control"] == "no-store"
    runs = {run["path"]: run for run in json.loads(server.get("/api/runs")[1])["runs"]}
    assert list(runs) == ["a/version_0", "b & <b>/version_0"], list(runs)
    assert runs["a/version_0"]["status"] == "running" and runs["a/version_0"]["best"]["value"] == 1 / 30
    assert runs["b & <b>/version_0"]["status"] == "killed"
    # The page of a run: its texts are data.
    path = "?path=" + urllib.parse.quote("b & <b>/version_0", safe="")
    status, page, _ = server.get("/run" + path)
    assert status == 200 and HTML not in page and "<b>" not in page
    assert data_of(page)[0]["metrics"]["val_loss"]["values"][-1] == 1 / 30
    # New rows come by polling; what has not changed is not sent again.
    path = "?path=a/version_0"
    status, body, headers = server.get("/api/run" + path)
    assert len(json.loads(body)["runs"][0]["metrics"]["val_loss"]["values"]) == 30
    assert server.get("/api/run" + path, {"If-None-Match": headers["ETag"]})[0] == 304
    with open(root / "a" / "version_0" / "metrics.jsonl", "a") as lines:
        lines.write(row(31) + "\n" + row(32)[:9])  # the second is being written
    status, body, _ = server.get("/api/run" + path, {"If-None-Match": headers["ETag"]})
    assert status == 200 and len(json.loads(body)["runs"][0]["metrics"]["val_loss"]["values"]) == 31
    # Nothing else of the disk.
    (root / "secret.txt").write_text("secret")
    outside = root.parent / "outside"
    write_run(outside, 3)
    (root / "link").symlink_to(outside)
    for bad in ["../outside", "a/../../outside", "a/version_0/..", str(outside), "link", "secret.txt", "", ".", "a",
                "a/version_0/metrics.jsonl", "a/version_0\0", "a/version_0/"]:  # fmt: skip
        for route in ["/run", "/api/run"]:
            assert server.get(f"{route}?path={urllib.parse.quote(bad, safe='')}")[0] == 404, bad
    for bad in ["/../secret.txt", "/%2e%2e/outside/run.json", "/secret.txt", "/a/version_0/metrics.jsonl", "/run/x"]:
        assert server.get(bad)[0] == 404, bad
    # A page of another name that leads here is refused, and so are methods that change something.
    port = server.base.rsplit(":", 1)[1]
    for good in [f"127.0.0.1:{port}", f"localhost:{port}", "LOCALHOST", f"[::1]:{port}"]:
        assert server.get("/api/runs", {"Host": good})[0] == 200, good
    for bad in ["evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil", "[::1", "evil@localhost"]:
        assert server.get("/api/runs", {"Host": bad})[0] == 403, bad
    assert server.get("/api/runs", method="POST")[0] == 405
    assert server.get("/api/runs", method="DELETE")[0] == 405
    used = subprocess.run([sys.argv[1], "serve", str(root), "--port", port], capture_output=True, text=True)
    assert used.returncode == 2 and "cannot listen" in used.stderr, used
    server.stop()


def check_token(root):
    server = Server(root, "--host", "0.0.0.0")
    token = re.search(r"\?token=([0-9a-f]{32})$", server.address).group(1)
    server.base = server.base.replace("0.0.0.0", "127.0.0.1")
    assert server.get("/")[0] == 401 and server.get("/api/runs")[0] == 401
    assert server.get("/?token=" + "0" * 32)[0] == 401 and server.get("/?token=" + token[:-1])[0] == 401
    status, _, headers = server.get("/?token=" + token)
    assert status == 200 and "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"]
    cookie = headers["Set-Cookie"].split(";")[0]
    assert server.get("/api/runs", {"Cookie": "other=1; " + cookie})[0] == 200
    assert server.get("/api/runs", {"Cookie": cookie + "0"})[0] == 401
    assert server.get("/api/runs", {"Authorization": "Bearer " + token})[0] == 200
    assert server.get("/api/runs", {"Authorization": "Bearer " + token, "Host": "evil.example"})[0] == 403
    server.stop()


def raw(port, *parts, takes_all=True):
    """Sends the parts, and returns the whole answer; what was sent where the server does not take all."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        sent = 0
        try:
            for part in parts:
                connection.sendall(part)
                sent += len(part)
        except OSError:
            assert not takes_all, sent
            return sent
        answer = b""
        while read := connection.recv(65536):
            answer += read
        return answer if takes_all else sent


def check_strangers(root):
    """Nobody is given more than a request's header needs, or keeps the server from others or from its end."""
    server = Server(root, "--token", "secret")
    port = int(server.base.rsplit(":", 1)[1])
    start = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
    admitted = start + b"Authorization: Bearer secret\r\n"
    get = lambda: server.get("/", {"Authorization": "Bearer secret"})[0]
    # One request of a connection, whatever else is sent.
    answer = raw(port, admitted + b"\r\n", admitted + b"\r\n")
    assert answer.count(b"HTTP/1.1 200 ") == 1 and b"\r\nConnection: close\r\n" in answer, answer
    assert raw(port, admitted.replace(b"GET", b"HEAD") + b"\r\n").endswith(b"\r\n\r\n")
    for sent, status in [
        (admitted + b"Content-Length: 1\r\n\r\na", 413),
        (admitted + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
        (b"POST" + admitted[3:] + b"Content-Length: 1\r\n\r\na", 405),
        (start + b"Content-Length: 1\r\n\r\na", 401),
        (start + b"\r\n", 401),
        (admitted + b"Host: localhost\r\n\r\n", 400),
        (admitted.replace(b"GET /", b"GET http://localhost/") + b"\r\n", 400),
        (b"\x16\x03\x01\x02\x00", 400),
        (admitted + b"X: " + b"a" * 20000, 431),
    ]:
        assert raw(port, sent).startswith(b"HTTP/1.1 %d " % status), (sent[:200], status, raw(port, sent)[:200])
    # A body is not taken: what lies in the buffers of the two sockets is less than this.
    for header in (b"POST / HTTP/1.1\r\nHost: localhost\r\n", admitted):
        sent = raw(port, header + b"Content-Length: 900000000\r\n\r\n", *[bytes(1 << 20)] * 858, takes_all=False)
        assert sent < 100 << 20, f"{sent} bytes of a body are taken"
    # Connections that say nothing do not keep others out. The oldest give place.
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
    for connection in silent:
        connection.sendall(b"GET / HTTP/1.1\r\nX: ")
    assert get() == 200
    closed = 0
    for connection in silent:
        connection.settimeout(0.01)
        try:
            closed += connection.recv(1) == b""
        except ConnectionResetError:
            closed += 1
        except TimeoutError:
            pass
    assert closed >= 100 - 64, closed
    # Nor do clients that do not read.
    many = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    for connection in many:
        connection.sendall(admitted.replace(b"/", b"/run?path=a/version_0", 1) + b"\r\n")
    assert get() == 200
    server.stop()


def check_asks(root):
    """Runs are paused and stopped by who has the token, through the server's own pages, and by nobody else."""
    server = Server(root, "--control")
    token = re.search(r"\?token=([0-9a-f]{32})$", server.address).group(1)
    own = {"Authorization": "Bearer " + token, "X-Levin-Ask": "1"}
    run = root / "a" / "version_0"
    post = lambda what, path="a/version_0", headers=own, method="POST": server.get(
        f"/api/ask?path={urllib.parse.quote(path)}&ask={what}", headers, method)[0]  # fmt: skip
    request = lambda: (run / "request").read_text() if (run / "request").exists() else ""
    for headers, status in [
        ({}, 401), ({"X-Levin-Ask": "1"}, 401), ({**own, "Authorization": "Bearer " + token[:-1]}, 401),
        ({"Authorization": "Bearer " + token}, 403), ({**own, "Origin": "http://evil.example"}, 403),
        ({**own, "Origin": "null"}, 403), ({**own, "Host": "evil.example"}, 403),
    ]:  # fmt: skip
        assert post("stop", headers=headers) == status, (headers, status)
    assert post("stop", method="GET") == 405 and post("stop", method="PUT") == 405
    assert server.get("/api/runs", own, "POST")[0] == 405
    assert post("kill") == 400 and post("") == 400
    assert post("stop", "../outside") == 404 and post("stop", "b & <b>/version_0") == 409
    assert not list(root.rglob("request")) and not (root.parent / "outside" / "request").exists()
    status_of = lambda: {one["path"]: one["status"] for one in json.loads(server.get("/api/runs", own)[1])["runs"]}["a/version_0"]
    assert status_of() == "running"
    assert post("pause", headers={**own, "Origin": server.base}) == 200 and request() == "pause\n"
    assert status_of() == "running, pauses soon"
    (run / "paused").touch()
    assert status_of() == "paused"
    assert post("continue") == 200 and request() == ""
    assert status_of() == "paused, continues soon"
    (run / "paused").unlink()
    assert post("stop") == 200 and request() == "stop\n"
    assert status_of() == "running, stops soon"
    (run / "request").unlink()
    server.stop()


def check_several_runs(root):
    server = Server(root)
    both = "path=a/version_0&path1=" + urllib.parse.quote("b & <b>/version_0", safe="")
    status, page, _ = server.get("/run?" + both)
    assert status == 200 and [one["status"] for one in data_of(page)] == ["running", "killed"] and "CAN_ASK = false" in page
    status, body, headers = server.get("/api/run?" + both)
    assert status == 200 and len(json.loads(body)["runs"]) == 2
    assert server.get("/api/run?" + both, {"If-None-Match": headers["ETag"]})[0] == 304
    assert server.get("/run?path=a/version_0&path1=none")[0] == 404
    server.stop()


def check_buttons(root):
    """The pages in a browser: runs chosen together, live curves, and the buttons that ask a run."""
    program = browser.find_browser()
    if program is None:
        return print("there is no browser; the buttons were not pressed")
    server = Server(root, "--control")
    run = root / "a" / "version_0"
    with browser.page(program) as page:
        page.open(server.address)
        page.wait_for("document.querySelectorAll('#runs input').length === 2")
        page.value("document.querySelectorAll('#runs input').forEach(box => box.click())")
        page.wait_for("document.getElementById('together').href.includes('path1=')")
        page.open(server.base + page.value("document.getElementById('together').getAttribute('href')"))
        buttons = "[...document.querySelectorAll('section table button')]"
        assert page.value(f"{buttons}.map(one => one.textContent + one.disabled)") == ["pausefalse", "stopfalse", "pausetrue", "stoptrue"]
        assert page.value("document.querySelectorAll('figure path').length") >= 2
        page.value(f"{buttons}[0].click()")
        page.wait_for(f"{buttons}[0].textContent === 'continue'")
        assert (run / "request").read_text() == "pause\n"
        (run / "paused").touch()
        page.wait_for("document.querySelector('section tbody tr').cells[2].textContent === 'paused'")
        with open(run / "metrics.jsonl", "a") as lines:
            lines.write(row(9000) + "\n")
        page.wait_for("document.querySelector('section tbody tr').cells[4].textContent === '9000'")
        page.value(f"{buttons}[0].click()")
        page.wait_for(f"{buttons}[0].textContent === 'pause'")
        (run / "paused").unlink()
        assert not (run / "request").exists()
        page.value(f"{buttons}[1].click()")
        assert page.value(f"{buttons}[1].textContent").endswith("sure?") and not (run / "request").exists()
        page.value(f"{buttons}[1].click()")
        page.wait_for("document.querySelector('section tbody tr').cells[2].textContent === 'running, stops soon'")
        assert (run / "request").read_text() == "stop\n"
        (run / "request").unlink()
        # The two axes, the smoothing and the zoom are those of a report, and stay when new values come.
        page.value("[...document.querySelectorAll('.controls input')].find(one => one.type === 'checkbox').click()")
        page.value("zoom([10, 20])")
        with open(run / "metrics.jsonl", "a") as lines:
            lines.write(row(9001) + "\n")
        page.wait_for("document.querySelector('section tbody tr').cells[4].textContent === '9001'")
        assert page.value("view.log && view.zoom[1] === 20 && charts[0].x1 === 20")
    server.stop()


def browse(folder, address):
    program = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if program is None:
        return None
    run = subprocess.run(
        [program, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
         "--virtual-time-budget=9000", "--window-size=900,1600", f"--user-data-dir={folder / 'profile'}", address],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    errors = [line for line in run.stderr.splitlines() if "CONSOLE" in line and "favicon" not in line]
    assert not errors, errors
    return run.stdout


def check_browser(folder, root):
    server = Server(root)
    dom = browse(folder, server.base + "/")
    if dom is None:
        print("there is no browser; the pages were not drawn")
        server.stop()
        return
    assert "2 runs" in dom and "<b>/version_0" not in dom and "b &amp; &lt;b&gt;/version_0" in dom, dom[-1500:]
    assert ">running</td>" in dom and ">killed</td>" in dom
    # The page follows a run that goes on.
    metrics = root / "a" / "version_0" / "metrics.jsonl"
    write = threading.Event()

    def go_on():
        for step in range(40, 4000):
            if write.is_set():
                return
            with open(metrics, "a") as lines:
                lines.write(row(step) + "\n")
            time.sleep(0.02)

    before = len(data_of(server.get("/run?path=a/version_0")[1])[0]["metrics"]["val_loss"]["values"])
    writer = threading.Thread(target=go_on)
    writer.start()
    dom = browse(folder, server.base + "/run?path=a/version_0")
    write.set()
    writer.join()
    in_page = len(data_of(dom)[0]["metrics"]["val_loss"]["values"])
    drawn = max(path.count("L") + 1 for path in re.findall(r'<path d="(M[^"]*)"', dom))
    assert drawn > in_page >= before, (before, in_page, drawn)
    assert "<img" not in dom and "&lt;img src=x&gt;" in dom and ">all runs</a>" in dom
    assert int(re.search(r">running</td><td[^>]*>\d+</td><td[^>]*>(\d+)</td>", dom).group(1)) > 40
    server.stop()


def watch(*words):
    return subprocess.run([sys.argv[1], "watch", *map(str, words)], capture_output=True, text=True, timeout=60)


def check_watch(root):
    killed = watch(root / "b & <b>")
    assert killed.returncode == 1, killed
    lines = killed.stdout.splitlines()
    assert lines[0].startswith("step 1  ") and "val_loss 1" in lines[0] and len(lines) == 31, lines
    assert lines[-1].startswith("killed  epoch 4/9  step 30"), lines[-1]
    assert "\x1b" not in killed.stdout
    # A run that goes on is followed until it ends.
    run = root / "live"
    write_run(run, 3)
    lock = Locked(run)
    process = subprocess.Popen(
        [sys.argv[1], "watch", str(run), "--every", "1"], stdout=subprocess.PIPE, text=True, bufsize=1
    )
    for step in range(1, 4):
        assert process.stdout.readline().startswith(f"step {step} ")
    with open(run / "metrics.jsonl", "a") as lines:
        lines.write(row(4) + "\n")
    assert process.stdout.readline().startswith("step 4 ")
    end(run)
    lock.release()
    assert process.stdout.read().startswith("completed  epoch 1/9  step 4")
    assert process.wait(30) == 0
    assert watch(root / "none").returncode == 2
    assert watch(root / "a", "--every", "0").returncode == 2
    # In a terminal: curves of Braille letters, within the screen, and no text that controls the terminal.
    with open(run / "metrics.jsonl", "a") as lines:
        lines.write(json.dumps({"step": 5, "epoch": 0, "wall_seconds": 1, "\x1b[31mred": 2}) + "\n")
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.argv[1], [sys.argv[1], "watch", str(run)], {**os.environ, "LC_ALL": "C.UTF-8"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    shown = b""
    try:
        while chunk := os.read(terminal, 65536):
            shown += chunk
    except OSError:
        pass  # the end of the terminal
    os.waitpid(child, 0)
    text = shown.decode()
    assert text.startswith(str(run)) and "?[31mred 2" in text and "\x1b" not in text
    assert re.search("[\u2801-\u28ff]", text) and "completed" in text
    assert max(map(len, text.splitlines())) <= 80
    # Several runs: each line names its own.
    lines = watch(root / "b & <b>", run).stdout.splitlines()
    assert len(lines) == 37 and lines[0].startswith(f"{root / 'b & <b>' / 'version_0'}: step 1  "), lines


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        root = folder / "runs"
        write_run(root / "a" / "version_0", 30)
        lock = Locked(root / "a" / "version_0")
        write_run(root / "b & <b>" / "version_0", 30)
        check_requests(root)
        (root / "link").unlink()
        check_token(root)
        check_several_runs(root)
        check_asks(root)
        check_strangers(root)
        check_browser(folder, root)
        check_buttons(root)
        lock.release()
        check_watch(root)
    print("the server shows runs, and nothing else")


if __name__ == "__main__":
    main()

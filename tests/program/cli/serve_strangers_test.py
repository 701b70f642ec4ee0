"""levin serve among strangers: connections of every bad kind beside one client that wants its pages.

serve_strangers_test.py LEVIN [--seconds N] [--connections N] [--measure]

Each stranger connects again when it is closed. All requests of the good client must be answered; no stranger may be given more than
it should, and the server must end while all are connected. --measure, on a quiet machine: memory flat within 16 MB, answers within
1 s, the end within 2 s.
"""

import argparse
import collections
import contextlib
import errno
import http.client
import json
import multiprocessing
import pathlib
import random
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time

TOKEN = "0123456789abcdef"
ADDRESSES = 40  # the strangers come from 127.0.0.1 and so many others
ROWS = 3000
SEED = 1

START = b"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\n"
ADMITTED = START + b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"


# What a kind does beside sending: it waits half a second, ends its half of the connection, leaves with a reset.
PAUSE, SHUT, LEAVE = "pause", "shut", "leave"


def once(*parts):
    """Sends the parts, and then waits."""
    yield from parts
    while True:
        yield PAUSE


def for_some_time(*parts):
    """Does not find out by itself that the server has closed the connection."""
    yield from parts
    for _ in range(random.randrange(60)):
        yield PAUSE
    yield LEAVE


def without_end(start, part):
    yield start
    while True:
        yield part


def slowly(start):
    """A byte at a time."""
    yield start
    for i in range(1 << 30):
        yield PAUSE
        yield b"x"


# What each kind does, and whether it reads the answer.
KINDS = {
    "slow header": (lambda: slowly(ADMITTED + b"X: "), True),
    "no header": (lambda: once(), True),
    "half a header, then closed to writing": (lambda: once(START, SHUT), True),
    "a line without an end": (lambda: without_end(b"GET /", b"a" * 4096), True),
    "huge header": (lambda: without_end(START, b"X-Very-Long: " + b"a" * 4096 + b"\r\n"), True),
    "body": (lambda: without_end(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900000000\r\n\r\n", b"b" * 65536), True),
    "body with the token": (lambda: without_end(ADMITTED + b"Content-Length: 900000000\r\n\r\n", b"b" * 65536), True),
    "chunked body": (lambda: without_end(ADMITTED + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"c" * 4096 + b"\r\n"), True),
    "slow body": (lambda: slowly(ADMITTED + b"Content-Length: 1000\r\n\r\n"), True),
    "never reads the list": (lambda: for_some_time(ADMITTED + b"\r\n"), False),
    "never reads a run": (lambda: for_some_time(ADMITTED.replace(b"/api/runs", b"/run?path=long") + b"\r\n"), False),
    "asks again and again, and never reads": (lambda: without_end(START, ADMITTED + b"\r\n"), False),
    "garbage": (lambda: once(bytes(random.randrange(256) for _ in range(random.randrange(1, 3000)))), True),
    "TLS": (lambda: once(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)), True),
    "wrong Host": (lambda: once(ADMITTED.replace(b"127.0.0.1", b"evil.example") + b"\r\n"), True),
    "no Host": (lambda: once(b"GET / HTTP/1.1\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n"), True),
    "without token": (lambda: once(START + b"\r\n"), True),
    "wrong token": (lambda: once(b"GET /?token=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: levin_token=1\r\n\r\n"), True),
    "leaves at once": (lambda: once(START, LEAVE), True),
}  # fmt: skip
PERMITTED = {  # the only answers to each kind, if there is one
    "slow header": {408},
    "a line without an end": {431},
    "huge header": {431},
    "body": {405},
    "body with the token": {413},
    "chunked body": {413},
    "slow body": {413},
    "garbage": {400, 408},
    "TLS": {400},
    "wrong Host": {403},
    "no Host": {403},
    "without token": {401},
    "wrong token": {401},
}


class Stranger:
    """A place from which one connection after another is made."""

    def __init__(self, number, port, seen):
        names = list(KINDS)
        self.kind, self.port, self.seen = names[number % len(names)], port, seen
        self.address = f"127.0.0.{1 + number // len(names) % (ADDRESSES + 1)}"
        self.socket, self.next_at = None, random.random()

    def connect(self):
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        if not KINDS[self.kind][1]:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        self.socket.bind((self.address, 0))
        self.parts, self.rest, self.received = KINDS[self.kind][0](), b"", b""
        self.seen[self.kind, "connections"] += 1
        self.socket.connect_ex(("127.0.0.1", self.port))
        self.next_at = None

    def wants(self):
        reads = select.EPOLLIN if KINDS[self.kind][1] else 0
        return reads | (select.EPOLLOUT if self.next_at is None else 0)

    def leave(self, now):
        self.socket.close()
        self.socket, self.next_at = None, now + random.random() / 2

    def go_on(self, events, now):
        """Returns False once the connection has ended."""
        try:
            if events & select.EPOLLIN:
                read = self.socket.recv(65536)
                if not read:
                    return False
                if not self.received:
                    status = re.match(rb"HTTP/1\.1 (\d+) ", read)
                    self.seen[self.kind, status and int(status.group(1))] += 1
                    self.received = read[:1]
            if events & select.EPOLLOUT:
                self.send(now)
        except BlockingIOError:
            pass
        except OSError as error:
            self.seen[self.kind, "reset" if error.errno in (errno.ECONNRESET, errno.EPIPE) else error.strerror] += 1
            return False
        return self.socket is not None and not events & (select.EPOLLERR | select.EPOLLHUP)

    def send(self, now):
        part = self.rest or next(self.parts)
        if part == PAUSE:
            self.next_at = now + 0.5
        elif part == SHUT:
            self.socket.shutdown(socket.SHUT_WR)
        elif part == LEAVE:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.leave(now)
        else:
            sent = self.socket.send(part)
            self.seen[self.kind, "bytes"] += sent
            self.rest = part[sent:]


def be_strangers(port, count, pipe):
    """Until something comes through the pipe; then tells what was seen, with the connections open."""
    random.seed(SEED)
    seen = collections.Counter()
    strangers = [Stranger(number, port, seen) for number in range(count)]
    start, poll, by_descriptor = time.monotonic(), select.epoll(), {}
    while not pipe.poll():
        now = time.monotonic() - start
        for one in strangers:
            if one.next_at is None or one.next_at > now:
                continue
            if one.socket is None:
                one.connect()
                by_descriptor[one.socket.fileno()] = one
                poll.register(one.socket, one.wants())
            else:
                one.next_at = None
                poll.modify(one.socket, one.wants())
        for descriptor, events in poll.poll(0.05):
            one = by_descriptor[descriptor]
            if one.go_on(events, now):
                poll.modify(descriptor, one.wants())
                continue
            del by_descriptor[descriptor]
            if one.socket is not None:
                poll.unregister(descriptor)
                one.leave(now)
    seen["open", "connections"] = len(by_descriptor)
    pipe.send(seen)
    pipe.recv()


def write_runs(root):
    row = lambda step: json.dumps({"step": step, "epoch": step // 10, "wall_seconds": step / 7, "val_loss": 1 / step})
    for name in ("long", "short"):
        (root / name).mkdir()
        (root / name / "run.json").write_text('{"id": "0"}')
        (root / name / "config.json").write_text('{"trainer": {"max_epochs": 9}}')
        rows = ROWS if name == "long" else 10
        (root / name / "metrics.jsonl").write_text("".join(row(step) + "\n" for step in range(1, rows + 1)))
    return root / "short" / "metrics.jsonl", row


def resident(process):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text()).group(1)) / 1024


def get(port, path, statuses):
    """Returns the seconds until the answer. Where a connection is closed without one, it asks again, as browsers do: between
    connecting and sending it is a stranger like the others."""
    start = time.monotonic()
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", path, headers={"Authorization": "Bearer " + TOKEN})
            answer = connection.getresponse()
            answer.read()
            connection.close()
            statuses[answer.status] += 1
            return time.monotonic() - start
        except (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected):
            statuses["asked again"] += 1


def be_good(process, port, seconds, metrics, row):
    """Asks for pages of runs, of which one goes on. Returns statuses, seconds of each, and the memory at each second."""
    statuses, took, memory = collections.Counter(), [], []
    start, step = time.monotonic(), 10
    while (now := time.monotonic() - start) < seconds:
        if now >= len(memory):
            memory.append(resident(process))
            step += 1
            with open(metrics, "a") as lines:
                lines.write(row(step) + "\n")
        for path in ("/", "/api/runs", "/run?path=long", "/api/run?path=short"):
            took.append(get(port, path, statuses))
        time.sleep(0.1)
    return statuses, took, memory


@contextlib.contextmanager
def served(levin, root):
    process = subprocess.Popen([levin, "serve", root, "--port", "0", "--token", TOKEN], stdout=subprocess.PIPE, text=True)
    try:
        yield process, int(re.search(r":(\d+)/", process.stdout.readline()).group(1))
    finally:
        process.kill()
        process.wait()


def print_seen(seen):
    for kind in KINDS:
        told = {what: count for (of, what), count in seen.items() if of == kind}
        megabytes = told.pop("bytes", 0) / 1e6
        counts = ", ".join(f"{what}: {count}" for what, count in sorted(told.items(), key=str))
        print(f"  {kind}: {counts}; {megabytes:.1f} MB sent")


def check_strangers(seen):
    for kind, permitted in PERMITTED.items():
        answers = {what for of, what in seen if of == kind and (what is None or isinstance(what, int))}
        assert answers <= permitted, (kind, answers)
        assert seen[kind, "connections"] > 0, kind
    for kind in ("wrong Host", "without token", "body with the token", "huge header"):
        assert any(seen[kind, status] for status in PERMITTED[kind]), (kind, seen)
    # Of a body the server takes what lies in the system's buffers, and a little to be able to answer.
    bodies = [kind for kind in KINDS if "body" in kind and kind != "slow body"]
    sent, connections = (sum(seen[kind, what] for kind in bodies) for what in ("bytes", "connections"))
    assert sent < connections * 16e6, f"{sent / connections / 1e6} MB of a body"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("levin")
    parser.add_argument("--seconds", type=float, default=14)  # more than a header may take
    parser.add_argument("--connections", type=int, default=400)
    parser.add_argument("--measure", action="store_true")
    given = parser.parse_args()
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert files > given.connections + 100, f"ulimit -n permits {files} files only"
    with tempfile.TemporaryDirectory() as name, served(given.levin, name) as (process, port):
        metrics, row = write_runs(pathlib.Path(name))
        for path in ("/api/runs", "/run?path=long") * 3:
            get(port, path, collections.Counter())
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        ours, theirs = multiprocessing.Pipe()
        strangers = multiprocessing.Process(target=be_strangers, args=(port, given.connections, theirs), daemon=True)
        strangers.start()
        statuses, took, memory = be_good(process, port, given.seconds, metrics, row)
        ours.send("tell")
        seen = ours.recv()
        start = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        end = time.monotonic() - start
        ours.send("end")
        strangers.join(10)
        strangers.kill()
    connections = sum(count for (_, what), count in seen.items() if what == "connections")
    print(f"{connections} connections of {len(KINDS)} bad kinds, {given.connections} at a time, {seen['open', 'connections']} at the end:")
    print_seen(seen)
    settled = memory[min(5, len(memory) - 1) :]
    print(f"{len(took)} good requests, {dict(statuses)}; the median took {sorted(took)[len(took) // 2]:.4f} s, the slowest {max(took):.3f} s")
    print(f"memory {min(settled):.1f} to {max(settled):.1f} MB, at the start {memory[0]:.1f} MB, at the end {memory[-1]:.1f} MB")
    print(f"the server ended with {code} {end:.2f} s after SIGTERM")
    assert statuses[200] == len(took) and statuses["asked again"] <= len(took) / 100, statuses
    assert code == 0
    check_strangers(seen)
    if given.measure:
        assert max(settled) - min(settled) < 16 and max(took) < 1 and end < 2


if __name__ == "__main__":
    main()

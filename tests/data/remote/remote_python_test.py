"""remote_tool reads and writes objects of moto's S3 server, through a proxy with faults, and files of web servers.

usage: remote_python_test.py TOOL
"""

import functools
import hashlib
import http.client
import http.server
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from bucket_server import KEYS, REGION, BucketServer, Proxy

TOOL = sys.argv[1]
MEGABYTE = 1 << 20


def run(environment, *words, code=0, **changes):
    """Runs the tool; returns its output, or its error if `code` is not 0."""
    environment = {name: value for name, value in dict(environment, **changes).items() if value is not None}
    done = subprocess.run([TOOL, *map(str, words)], capture_output=True, env=environment, timeout=120)
    error = done.stderr.decode()
    assert done.returncode == code, (words, done.returncode, error)
    for secret in ("secret/of+levin", "session-token", "pass%20word", "X-Amz-Signature"):
        assert secret not in error, error
    return done.stdout if code == 0 else error


def random_bytes(count, seed=0):
    return random.Random(seed).randbytes(count)


def check_read(server, env, home):
    whole = random_bytes(20 * MEGABYTE + 77)
    key = "a folder/ä+b&c=d%20e~(1)!'.bin"
    server.put(key, whole)
    url = f"s3://bucket/{key}"
    tag = hashlib.md5(whole).hexdigest()
    assert run(env, "find", url).decode().split() == [str(len(whole)), tag]
    drawn = random.Random(1)
    for offset, size in [(0, 1), (len(whole) - 1, 1), (5, 0)] + [(drawn.randrange(1000), drawn.randrange(10**6)) for _ in range(4)]:
        assert run(env, "read", url, offset, size) == whole[offset:offset + size]
    run(env, "fetch", url, home / "x/y.bin")
    assert (home / "x/y.bin").read_bytes() == whole and [p.name for p in (home / "x").iterdir()] == ["y.bin"]
    server.put("empty", b"")
    assert run(env, "find", "S3://bucket/empty").split()[0] == b"0"
    run(env, "fetch", "s3://bucket/empty", home / "empty")
    assert (home / "empty").read_bytes() == b""
    assert "no bytes" in run(env, "read", "s3://bucket/empty", 0, 1, code=1)


def check_listing(server, env, home):
    keys = [f"list/{i:04}.tar" for i in range(25)] + ["list/sub/a b+c.tar", "list/ü&<>.tar", "other"]
    for key in keys:
        server.put(key, key.encode())
    lines = run(env, "list", "s3://bucket/list/").decode().splitlines()
    wanted = sorted((f"s3://bucket/{key}" for key in keys if key.startswith("list/")), key=str.encode)
    assert [line.rsplit(" ", 2)[0] for line in lines] == wanted
    assert lines[0].split()[1:] == [str(len(keys[0])), hashlib.md5(keys[0].encode()).hexdigest()]
    names = lambda pattern: [line.rsplit(" ", 2)[0][len("s3://bucket/list/"):]
                             for line in run(env, "list", f"s3://bucket/list/{pattern}").decode().splitlines()]
    assert names("000[0-2].tar") == ["0000.tar", "0001.tar", "0002.tar"]
    assert names("00?1.tar") == ["0001.tar", "0011.tar", "0021.tar"]
    assert names("**b+c.tar") == ["sub/a b+c.tar"] and names("*b+c.tar") == []
    assert names("*.tar") == sorted((key[5:] for key in keys if key.startswith("list/") and key.count("/") == 1), key=str.encode)
    assert names("none") == []
    assert "no bucket nothing" in run(env, "list", "s3://nothing/x", code=2)
    assert "a web server has no listing" in run(env, "list", "http://127.0.0.1/x*", code=2)


def check_faults(server, env, home):
    proxy = server.proxy
    proxy.clear()
    whole = random_bytes(12 * MEGABYTE, 2)
    server.put("faults.bin", whole)
    url, file = "s3://bucket/faults.bin", home / "faults.bin"

    def fetched(**changes):
        run(env, "fetch", url, file, **changes)
        assert file.read_bytes() == whole
        file.unlink()
        return proxy.clear()

    assert [range for _, _, range in fetched()] == [None, "bytes=0-8388607", "bytes=8388608-12582911"]
    # Each answer fails, some after a part that need not come again.
    proxy.fault("status", 503, method="HEAD")
    proxy.fault("status", 500, method="GET")
    proxy.fault("cut", 3_000_000, method="GET")
    proxy.fault("status", (503, {"Retry-After": "1"}, "<Error><Code>SlowDown</Code></Error>"), method="GET")
    proxy.fault("truncate", 1000, method="GET")
    proxy.fault("status", 429, method="GET")
    proxy.fault("refuse", method="GET")
    begins = [int(range[6:].split("-")[0]) for _, _, range in fetched() if range]
    cut, truncated = begins[2], begins[4]
    assert 0 < cut <= 3_000_000 and cut < truncated <= cut + 1000, begins
    assert begins == [0, 0, cut, cut, truncated, truncated, truncated, 8 * MEGABYTE], begins
    proxy.fault("slow", 2.5, method="GET")
    assert len(fetched(LEVIN_REMOTE_TIMEOUT="1")) >= 4
    # It is enough after some attempts, and nothing is left.
    proxy.fault("status", 503, method="GET", count=99)
    error = run(env, "fetch", url, file, code=1, LEVIN_REMOTE_RETRIES="1")
    assert url in error and "503" in error and "attempt 2" in error
    proxy.clear()
    # Damage is found by the digest, a change by the version.
    proxy.fault("damage", method="GET", skip=1)
    error = run(env, "fetch", url, file, code=1)
    assert "damaged" in error and "MD5" in error, error
    proxy.clear()
    assert not file.exists() and not file.with_name("faults.bin.part").exists()
    for other in (random_bytes(12 * MEGABYTE, 3), b"short"):
        proxy.fault("change", lambda: server.put("faults.bin", other), method="GET", skip=1)
        error = run(env, "fetch", url, file, code=1)
        assert "changed since it was found" in error, error
        assert not file.exists() and not file.with_name("faults.bin.part").exists()
        server.put("faults.bin", whole)
        proxy.clear()


def check_refusals(server, env, home):
    proxy = server.proxy
    assert "no such object (404)" in run(env, "find", "s3://bucket/none", code=2)
    denied = (403, {}, "<Error><Code>AccessDenied</Code></Error>")
    proxy.fault("status", denied, count=9)
    error = run(env, "find", "s3://bucket/x", code=2)
    assert "403" in error and "AccessDenied" in error and "the keys of AWS_ACCESS_KEY_ID" in error, error
    error = run(env, "find", "s3://bucket/x", code=2, AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None)
    assert "no keys" in error and "AWS_PROFILE" in error, error
    (home / ".aws").mkdir()
    (home / ".aws/credentials").write_text(
        f"[default]\naws_access_key_id=x\naws_secret_access_key=y\n[own]\naws_access_key_id = {KEYS['AWS_ACCESS_KEY_ID']}\n"
        f"# a comment\naws_secret_access_key = {KEYS['AWS_SECRET_ACCESS_KEY']}\n")
    (home / ".aws/config").write_text(
        f"[profile own]\nregion = {REGION}\ns3 =\n  region = no\nendpoint_url = {proxy.url}/\n[profile role]\nrole_arn = arn:x\n")
    unset = {name: None for name in (*KEYS, "AWS_REGION", "AWS_ENDPOINT_URL")}
    error = run(env, "find", "s3://bucket/x", code=2, **unset, AWS_PROFILE="own")
    assert "the profile own of" in error and "403" in error, error
    proxy.clear()
    wrong_before = len(proxy.wrong)
    server.put("own", b"123")
    assert run(env, "find", "s3://bucket/own", **unset, AWS_PROFILE="own").split()[0] == b"3"
    assert len(proxy.wrong) == wrong_before
    assert "no profile nobody" in run(env, "find", "s3://bucket/x", code=2, **unset, AWS_PROFILE="nobody")
    assert "role_arn" in run(env, "find", "s3://bucket/x", code=2, **unset, AWS_PROFILE="role")
    assert "AWS_SECRET_ACCESS_KEY is not" in run(env, "find", "s3://bucket/x", code=2, AWS_SECRET_ACCESS_KEY=None)
    proxy.fault("status", (301, {"x-amz-bucket-region": "us-west-2"}, ""), count=9)
    error = run(env, "find", "s3://bucket/x", code=2)
    assert "AWS_REGION=us-west-2" in error and REGION in error, error
    proxy.clear()
    for url in ("s3://", "s3:///x", "s3://key:secret@bucket/x", "s3://bu cket/x", "http:///x", "https://key:secret@host/x", "ftp://host/x"):
        error = run(env, "find", url, code=2)
        assert "key:secret" not in error
    assert "LEVIN_REMOTE_RETRIES" in run(env, "find", "s3://bucket/x", code=2, LEVIN_REMOTE_RETRIES="many")
    shutil.rmtree(home / ".aws")


def check_session_and_google(server, env, home):
    server.put("g", b"1234")
    assert run(env, "find", "s3://bucket/g", AWS_SESSION_TOKEN="session-token").split()[0] == b"4"
    google = Proxy(server.proxy.target, KEYS, "auto")
    changes = {"GCS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "GCS_SECRET": KEYS["AWS_SECRET_ACCESS_KEY"],
               "STORAGE_EMULATOR_HOST": google.url.removeprefix("http://")}
    assert run(env, "find", "gs://bucket/g", **changes).split()[0] == b"4"
    assert b"gs://bucket/g " in run(env, "list", "gs://bucket/g", **changes)
    assert google.wrong == [] and len(google.requests) == 2


def check_cache(server, env, home):
    proxy = server.proxy
    server.put("cached/data.npy", b"first")
    url = "s3://bucket/cached/data.npy"
    first = pathlib.Path(run(env, "path", url).decode().strip())
    assert first.name == "data.npy" and first.read_bytes() == b"first" and home / "cache" in first.parents
    proxy.clear()
    assert run(env, "path", url).decode().strip() == str(first)
    assert [method for method, _, _ in proxy.clear()] == ["HEAD"]
    server.put("cached/data.npy", b"second one")
    second = pathlib.Path(run(env, "path", url).decode().strip())
    assert second != first and second.read_bytes() == b"second one" and first.read_bytes() == b"first"
    # Several processes fetch once; a part that a killed process left is continued.
    whole = random_bytes(24 * MEGABYTE, 5)
    server.put("cached/large.bin", whole)
    proxy.clear()
    proxy.fault("slow", 0.3, method="GET", count=9)
    url = "s3://bucket/cached/large.bin"
    processes = [subprocess.Popen([TOOL, "path", url], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(4)]
    paths = {process.communicate()[0].decode().strip() for process in processes}
    assert len(paths) == 1 and pathlib.Path(paths.pop()).read_bytes() == whole
    assert [method for method, _, _ in proxy.clear()].count("GET") == 3
    server.put("cached/killed.bin", whole)
    proxy.fault("slow", 30, method="GET", skip=1)
    killed = subprocess.Popen([TOOL, "path", "s3://bucket/cached/killed.bin"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not [part for part in (home / "cache").rglob("killed.bin.part") if part.stat().st_size == 8 * MEGABYTE]:
        time.sleep(0.02)
    killed.kill()
    killed.wait()
    proxy.clear()
    path = pathlib.Path(run(env, "path", "s3://bucket/cached/killed.bin").decode().strip())
    assert path.read_bytes() == whole
    assert [range for _, _, range in proxy.clear() if range][0].startswith("bytes=8388608-")
    # A folder: one level deep, without other forms of the weights.
    for name in ("config.json", "model.safetensors", "pytorch_model.bin", "1_Pooling/config.json", "onnx/deep/model.onnx"):
        server.put("model/" + name, name.encode())
    server.put("model2/config.json", b"")
    folder = pathlib.Path(run(env, "folder", "s3://bucket/model").decode().strip())
    found = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file() and file.name != ".lock")
    assert found == ["1_Pooling/config.json", "config.json", "model.safetensors"], found
    assert "nothing in this folder" in run(env, "folder", "s3://bucket/no-model", code=2)
    assert "web server has no listing" in run(env, "folder", "https://127.0.0.1/model", code=2)
    (home / "a b").write_text("local")
    assert run(env, "path", f"file://{home}/a%20b").decode().strip() == str(home / "a b")
    assert run(env, "read", f"file://{home}/a%20b", 1, 3) == b"oca"


def bytes_in_cache(home):
    return sum(file.stat().st_size for file in (home / "cache/remote").rglob("*") if file.is_file() and file.name[0] != ".")


def check_cache_limit(server, env, home):
    """The files in the cache take so many bytes at most; those used least recently go first, and none that a process uses."""
    shutil.rmtree(home / "cache/remote", ignore_errors=True)
    limit = {"LEVIN_CACHE_BYTES": str(10 * MEGABYTE)}
    urls = [f"s3://bucket/limit/{i}.bin" for i in range(12)]
    whole = {url: random_bytes(2 * MEGABYTE, 100 + i) for i, url in enumerate(urls)}
    for url in urls:
        server.put(url.removeprefix("s3://bucket/"), whole[url])

    def path_of(url, **changes):
        path = pathlib.Path(run(env, "path", url, **limit, **changes).decode().strip())
        assert path.read_bytes() == whole[url]
        return path

    paths = [path_of(url) for url in urls[:4]]
    path_of(urls[0])
    for url in urls[4:6]:
        path_of(url)
    # The first was used after the second.
    assert paths[0].exists() and not paths[1].exists() and bytes_in_cache(home) <= 10 * MEGABYTE
    holder = subprocess.Popen([TOOL, "hold", *urls[6:9]], env={**env, **limit}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    held = [pathlib.Path(holder.stdout.readline().strip()) for _ in range(3)]
    for url in urls * 2:
        path_of(url)
        assert all(path.exists() for path in held)
    assert bytes_in_cache(home) <= 10 * MEGABYTE
    # What is in use alone is too much: it is fetched, with a warning.
    done = subprocess.run([TOOL, "path", urls[0]], env={**env, "LEVIN_CACHE_BYTES": str(3 * MEGABYTE)}, capture_output=True, text=True)
    assert done.returncode == 0 and "LEVIN_CACHE_BYTES: the files in use take" in done.stderr, done.stderr
    assert all(path.exists() for path in held)
    holder.communicate()
    path_of(urls[0])
    assert bytes_in_cache(home) <= 10 * MEGABYTE
    server.put("limit/new.bin", b"1")
    assert "LEVIN_CACHE_BYTES" in run(env, "path", "s3://bucket/limit/new.bin", code=2, LEVIN_CACHE_BYTES="much")
    check_cache_kills(env, home, limit, urls, whole)
    shutil.rmtree(home / "cache/remote")


def check_cache_kills(env, home, limit, urls, whole):
    """Processes that fetch, use and remove are killed at any moment."""
    drawn = random.Random(5)
    for _ in range(int(os.environ.get("LEVIN_CACHE_KILLS", "10"))):
        processes = [subprocess.Popen([TOOL, "hold", *drawn.sample(urls, 3)], env={**env, **limit}, stdin=subprocess.PIPE,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(3)]
        time.sleep(drawn.uniform(0.02, 0.4))
        for process in processes:
            process.kill()
            process.communicate()
        url = drawn.choice(urls)
        path = pathlib.Path(run(env, "path", url, **limit).decode().strip())
        assert path.read_bytes() == whole[url]
        for file in (home / "cache/remote").rglob("*.bin"):
            assert file.read_bytes() in whole.values(), file
    for url in urls:  # which counts again what the killed processes left
        run(env, "path", url, **limit)
    assert bytes_in_cache(home) <= 10 * MEGABYTE, bytes_in_cache(home)


def check_upload(server, env, home):
    proxy = server.proxy
    file = home / "up.bin"
    for size in (0, 1000, 16 * MEGABYTE, 40 * MEGABYTE + 5):
        whole = random_bytes(size, size)
        file.write_bytes(whole)
        run(env, "upload", "s3://bucket/up/a b+ü.bin", file)
        assert server.get("up/a b+ü.bin") == whole
    assert [method for method, path, _ in proxy.clear() if "partNumber" in path] == ["PUT"] * 3
    run(env, "fetch", "s3://bucket/up/a b+ü.bin", home / "down.bin")  # its SHA-256 is written beside it
    assert (home / "down.bin").read_bytes() == whole
    proxy.fault("damage", method="GET", skip=2)
    assert "SHA-256" in run(env, "fetch", "s3://bucket/up/a b+ü.bin", home / "down.bin", code=1)
    proxy.clear()
    # Passing failures, and lost answers of what was done.
    for kind, value in (("status", 503), ("refuse", None), ("lost", None)):
        server.client.delete_object(Bucket="bucket", Key="up/again.bin")
        proxy.fault(kind, value, method="POST", path="uploads=")
        proxy.fault(kind, value, method="PUT", path="partNumber=2")
        proxy.fault(kind, value, method="POST", path="uploadId=")
        run(env, "upload", "s3://bucket/up/again.bin", file)
        assert server.get("up/again.bin") == whole
        proxy.clear()
    # What fails leaves the old object, and no parts.
    server.put("up/kept.bin", b"old")
    proxy.fault("status", 403, method="PUT", path="partNumber=3")
    assert "403" in run(env, "upload", "s3://bucket/up/kept.bin", file, code=2)
    proxy.fault("digest", method="PUT", path="partNumber=2")
    assert "damaged" in run(env, "upload", "s3://bucket/up/kept.bin", file, code=1)
    proxy.fault("status", (200, {}, "<Error><Code>InternalError</Code></Error>"), method="POST", path="uploadId=")
    assert "InternalError" in run(env, "upload", "s3://bucket/up/kept.bin", file, code=1)
    proxy.clear()
    assert server.get("up/kept.bin") == b"old"
    uploads = server.client.list_multipart_uploads(Bucket="bucket").get("Uploads", [])
    assert [one["Key"] for one in uploads if one["Key"] == "up/kept.bin"] == []
    run(env, "remove", "s3://bucket/up/kept.bin")
    run(env, "remove", "s3://bucket/up/kept.bin")
    assert server.keys("up/kept") == []
    assert "s3:// or gs://" in run(env, "upload", "http://127.0.0.1/x", file, code=2)


class RangeHandler(http.server.SimpleHTTPRequestHandler):
    """Python's server, which has no ranges, and no length or HEAD for some names."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        if "private" in self.path and "Authorization" not in self.headers:
            return self.send_error(401)
        return super().do_GET()

    def do_HEAD(self):
        if "get-only" in self.path or ("private" in self.path and "Authorization" not in self.headers):
            return self.send_error(403)
        return super().do_HEAD()


def check_web(server, env, home):
    root = home / "web"
    root.mkdir()
    whole = random_bytes(10 * MEGABYTE + 3, 9)
    for name in ("a b.bin", "get-only.bin", "private.bin"):
        (root / name).write_bytes(whole)
    handler = functools.partial(RangeHandler, directory=str(root))
    python = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    # moto's server, without keys, is a web server with ranges.
    server.client.put_object(Bucket="bucket", Key="web.bin", Body=whole, ACL="public-read")
    url = "http://%s:%s/bucket/web.bin" % server.moto.get_host_and_port()
    assert run(env, "read", url, 5, 7) == whole[5:12]
    assert pathlib.Path(run(env, "path", url).decode().strip()).read_bytes() == whole
    python.handle_error = lambda *_: None  # a client that ends a connection
    threading.Thread(target=python.serve_forever, daemon=True).start()
    nginx = start_nginx(root, home)
    try:
        without_ranges = f"http://127.0.0.1:{python.server_port}"
        for base in [without_ranges] + ([nginx[1]] if nginx else []):
            for name in ("a%20b.bin?X-Amz-Signature=abc", "get-only.bin"):
                path = pathlib.Path(run(env, "path", f"{base}/{name}").decode().strip())
                assert path.read_bytes() == whole and path.name == name.split("?")[0].replace("%20", " ")
            assert "no such file" in run(env, "find", f"{base}/none?X-Amz-Signature=abc", code=2)
        assert "needs a password" in run(env, "path", without_ranges + "/private.bin", code=2)
        (home / ".netrc").write_text("machine 127.0.0.1 login user password word\n")
        assert pathlib.Path(run(env, "path", without_ranges + "/private.bin").decode().strip()).read_bytes() == whole
        assert "cannot read a part" in run(env, "read", without_ranges + "/a%20b.bin", 5, 7, code=1)
        if nginx:
            assert run(env, "read", nginx[1] + "/a%20b.bin", 5, 7) == whole[5:12]
        else:
            print("without nginx: not installed")
    finally:
        python.shutdown()
        if nginx:
            nginx[0].terminate()
            nginx[0].wait()
    error = run(env, "find", "http://127.0.0.1:1/x", code=1, LEVIN_REMOTE_RETRIES="0")
    assert "http://127.0.0.1:1/x" in error


def start_nginx(root, home):
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if program is None:
        return None
    port = free_port()
    config = home / "nginx.conf"
    config.write_text(
        f"daemon off; master_process off; pid {home}/nginx.pid; error_log {home}/nginx.log;\n"
        f"events {{}}\nhttp {{ access_log off; client_body_temp_path {home}/t1; proxy_temp_path {home}/t2; "
        f"fastcgi_temp_path {home}/t3; uwsgi_temp_path {home}/t4; scgi_temp_path {home}/t5;\n"
        f"server {{ listen 127.0.0.1:{port}; root {root}; }} }}\n")
    process = subprocess.Popen([program, "-c", str(config), "-e", str(home / "nginx.log")], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        if process.poll() is not None:
            return None
        try:
            http.client.HTTPConnection("127.0.0.1", port).connect()
            return process, f"http://127.0.0.1:{port}"
        except OSError:
            time.sleep(0.05)
    return None


def free_port():
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    server = BucketServer()
    home = pathlib.Path(tempfile.mkdtemp())
    try:
        env = server.environment(home)
        for check in (check_read, check_listing, check_faults, check_refusals, check_session_and_google, check_cache, check_cache_limit,
                      check_upload, check_web):
            begin = time.monotonic()
            check(server, env, home)
            unsigned = [one for one in server.proxy.wrong if one[2] != "not signed"]
            assert unsigned == [], unsigned
            print(f"{check.__name__}: {time.monotonic() - begin:.1f} s")
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()

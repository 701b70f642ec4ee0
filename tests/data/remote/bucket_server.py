"""An S3 server (moto's), and a proxy before it that checks every signature by botocore and injects faults; for tests.

Importing this module exits 77 (skipped) where Python has no moto.
"""

import hashlib
import http.client
import http.server
import logging
import os
import socket
import struct
import sys
import threading
import time
import urllib.parse

try:
    import boto3
    import botocore.auth
    import botocore.awsrequest
    import botocore.config
    import botocore.credentials
    import moto.server
except ImportError as error:
    print("SKIPPED: this Python has no", error.name, "(scripts/setup --tests installs it)")
    sys.exit(77)

logging.getLogger("werkzeug").setLevel(logging.ERROR)
os.environ["MOTO_S3_DEFAULT_MAX_KEYS"] = "7"  # of a listing's page
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDLEVIN", "AWS_SECRET_ACCESS_KEY": "secret/of+levin="}
REGION = "eu-central-1"


class Fault:
    """What happens to the next requests that fit: `kind` is status, refuse, cut, truncate, slow, change or digest.

    `count` requests are affected, after `skip` others that fit by method, part of the path and `only_range`.
    """

    def __init__(self, kind, value=None, count=1, method=None, path="", skip=0):
        self.kind, self.value, self.count, self.method, self.path, self.skip = kind, value, count, method, path, skip

    def takes(self, method, path):
        if self.count == 0 or self.path not in path or (self.method and method != self.method):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.count -= 1
        return True


class Proxy:
    def __init__(self, target, keys=None, region=REGION):
        self.target, self.keys, self.region = target, keys, region
        self.faults, self.requests, self.wrong = [], [], []
        self.lock = threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_any(self):
                proxy.serve(self)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # a client that ends a connection
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def fault(self, *arguments, **named):
        self.faults.append(Fault(*arguments, **named))

    def clear(self):
        """Forgets faults and requests; returns the requests."""
        requests, self.faults, self.requests = self.requests, [], []
        return requests

    def next_fault(self, method, path):
        with self.lock:
            return next((fault for fault in self.faults if fault.takes(method, path)), None)

    def check_signature(self, request, body):
        signed = request.headers.get("Authorization")
        if signed is None:
            return "not signed"
        if hashlib.sha256(body).hexdigest() != request.headers["x-amz-content-sha256"]:
            return "x-amz-content-sha256 is another"
        parts = dict(part.split("=", 1) for part in signed.removeprefix("AWS4-HMAC-SHA256 ").split(","))
        names = parts["SignedHeaders"].split(";")
        if "host" not in names or any(name.startswith("x-amz-") and name not in names
                                      for name in map(str.lower, request.headers.keys())):
            return "a header is not signed"
        raw_query = urllib.parse.urlsplit(request.path).query
        pairs = urllib.parse.parse_qsl(raw_query, keep_blank_values=True, strict_parsing=bool(raw_query))
        encoded = "&".join(f"{urllib.parse.quote(k, safe='-_.~')}={urllib.parse.quote(v, safe='-_.~')}" for k, v in pairs)
        if encoded != raw_query:
            return "the query is not encoded as AWS does it"
        keys = botocore.credentials.Credentials(self.keys["AWS_ACCESS_KEY_ID"], self.keys["AWS_SECRET_ACCESS_KEY"])
        auth = botocore.auth.S3SigV4Auth(keys, "s3", self.region)
        again = botocore.awsrequest.AWSRequest(
            method=request.command, url=self.url + request.path, data=body,
            headers={name: request.headers[name] for name in names})
        again.context["timestamp"] = request.headers["x-amz-date"]
        again.context["signing"] = {"region": self.region}
        to_sign = auth.string_to_sign(again, auth.canonical_request(again))
        wanted = auth.signature(to_sign, again)
        return None if wanted == parts["Signature"] else "the signature is another than botocore's"

    def serve(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        method, path = request.command, request.path
        self.requests.append((method, path, request.headers.get("Range")))
        if self.keys is not None and (wrong := self.check_signature(request, body)):
            self.wrong.append((method, path, wrong))
        fault = self.next_fault(method, path)
        kind = fault.kind if fault else None
        if kind == "status":
            code, headers, text = fault.value if isinstance(fault.value, tuple) else (fault.value, {}, "")
            return self.answer(request, code, headers, text.encode())
        if kind == "refuse":
            return self.reset(request)
        if kind == "change":
            fault.value()
        if kind == "slow":
            time.sleep(fault.value)
        connection = http.client.HTTPConnection(*self.target)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in request.headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        reply = connection.getresponse()
        content = reply.read()
        headers = {name: value for name, value in reply.getheaders()
                   if name.lower() not in ("transfer-encoding", "connection", "content-length", "date", "server")}
        length = int(reply.getheader("Content-Length") or len(content)) if method == "HEAD" else len(content)
        connection.close()
        if kind == "lost":  # the server did it, and the answer does not come
            return self.reset(request)
        if kind == "digest":
            headers["ETag" if "ETag" in headers else "etag"] = '"' + "0" * 32 + '"'
        if kind == "damage":
            content = bytes([content[0] ^ 1]) + content[1:]
        self.answer(request, reply.status, headers, content, length, kind, fault)

    def answer(self, request, status, headers, content, length=None, kind=None, fault=None):
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(content) if length is None else length))
        request.end_headers()
        if request.command == "HEAD":
            return
        if kind in ("cut", "truncate"):
            request.wfile.write(content[:fault.value])
            request.wfile.flush()
            if kind == "cut":
                return self.reset(request)
            request.close_connection = True
            return
        request.wfile.write(content)

    @staticmethod
    def reset(request):
        request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.close_connection = True
        request.connection.close()


class BucketServer:
    """moto's server with a bucket, behind a proxy; `client` is boto3's, which talks to moto itself."""

    def __init__(self, bucket="bucket"):
        self.moto = moto.server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self.moto.start()
        host, port = self.moto.get_host_and_port()
        self.proxy = Proxy((host, port), KEYS)
        self.client = boto3.client(
            "s3", endpoint_url=f"http://{host}:{port}", region_name=REGION, aws_access_key_id="moto",
            aws_secret_access_key="moto", config=botocore.config.Config(s3={"addressing_style": "path"}))
        self.client.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
        self.bucket = bucket

    def put(self, key, body):
        self.client.put_object(Bucket=self.bucket, Key=key, Body=body)

    def get(self, key):
        return self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()

    def keys(self, prefix=""):
        listing = self.client.list_objects_v2(Bucket=self.bucket, Prefix=prefix)
        return sorted(entry["Key"] for entry in listing.get("Contents", []))

    def environment(self, home):
        """Returns an environment with the keys, the server, and a folder for home and cache."""
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("AWS_", "GCS_", "LEVIN_REMOTE"))}
        return dict(clean, **KEYS, AWS_REGION=REGION, AWS_ENDPOINT_URL=self.proxy.url, HOME=str(home),
                    LEVIN_CACHE=str(home / "cache"), no_proxy="127.0.0.1")

    def stop(self):
        self.moto.stop()

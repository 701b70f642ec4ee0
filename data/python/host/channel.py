"""Messages to and from levin: JSON, with its length in front, over a socket; a descriptor may come with one."""

import array
import json
import os
import socket
import struct
import traceback

SOURCE = "levin's data/python/host"  # the name of this code in tracebacks


encode = json.JSONEncoder().encode


class Closed(BaseException):
    """levin has closed the socket."""


def plain(text):
    """Text that JSON in UTF-8 can hold."""
    return str(text).encode("utf-8", "replace").decode()


class Channel:
    def __init__(self, descriptor):
        self.socket = socket.socket(fileno=descriptor)
        self.descriptor = None  # the one that came with the message being read
        self.unread = b""

    @staticmethod
    def received(function, *arguments):
        """What a function of the socket receives."""
        try:
            return function(*arguments)
        except ConnectionResetError:  # it was closed with answers in it that levin had not read
            raise Closed from None

    def read(self, count):
        data = b""
        while len(data) < count:
            part, others, _, _ = self.received(self.socket.recvmsg, count - len(data), socket.CMSG_SPACE(4))
            for level, kind, content in others:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    self.descriptor = struct.unpack("i", content[:4])[0]
            if not part:
                raise Closed
            data += part
        return data

    def receive(self):
        self.descriptor = None
        (count,) = struct.unpack("<I", self.read(4))
        return json.loads(self.read(count))

    def receive_numbers(self):
        """A message that is whole numbers of 64 bits. No other kind, and no descriptor, comes to this end then."""
        while len(self.unread) < 4 or len(self.unread) < 4 + int.from_bytes(self.unread[:4], "little"):
            part = self.received(self.socket.recv, 1 << 14)
            if not part:
                raise Closed
            self.unread += part
        end = 4 + int.from_bytes(self.unread[:4], "little")
        body, self.unread = self.unread[4:end], self.unread[end:]
        return memoryview(body).cast("q").tolist()

    def has_more(self):
        """Whether more has come than was read."""
        if not self.unread:
            try:
                self.unread = self.received(self.socket.recv, 1 << 14, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
        return bool(self.unread)

    @staticmethod
    def packed(message):
        body = encode(message).encode()
        return struct.pack("<I", len(body)) + body

    def send(self, message, descriptor=None):
        """Sends a message and a descriptor, which is closed here."""
        self.send_packed(self.packed(message), descriptor)

    def send_packed(self, data, descriptor=None):
        try:
            if descriptor is not None:
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
                data = data[self.socket.sendmsg([data], rights):]
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise Closed from None
        finally:
            if descriptor is not None:
                os.close(descriptor)


def where(error):
    """The file and line at which the user's code failed, and the traceback without the frames of this code."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}", ""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != SOURCE]
    frames = [frame for frame in frames if not frame.filename.startswith("<frozen importlib")]
    if not frames:
        return "", ""
    own = [frame for frame in frames if os.path.dirname(frame.filename) in (OWN_FOLDER, "")] or frames
    return f"{own[-1].filename}:{own[-1].lineno}, in {own[-1].name}", "".join(traceback.format_list(frames))


OWN_FOLDER = ""  # of the user's file


def error_message(error, sample=None):
    place, trace = where(error)
    what = "".join(traceback.format_exception_only(type(error), error)).strip()
    return {"error": {"what": plain(what), "where": plain(place), "trace": plain(trace), "sample": sample}}

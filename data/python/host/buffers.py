"""Memory that levin maps too. It has no name in any file system."""

import mmap
import os


def new_file(size):
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("levin-data")
    else:
        descriptor = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.posix_fallocate(descriptor, 0, size)  # a full memory is an error here, and would be SIGBUS at a write
    return descriptor


class Buffers:
    """Buffers that levin gives back once it needs their batch no more."""

    def __init__(self):
        self.maps, self.free, self.dropped = {}, [], []
        self.newest = 0

    def give_back(self, numbers):
        self.free.extend(numbers)

    def drop(self, number):
        try:
            self.maps.pop(number).close()
        except BufferError:
            pass  # a traceback holds a view of it

    def take(self, size):
        """(number, memory, descriptor if it is new or None)"""
        for number in self.free:
            if len(self.maps[number]) >= size:
                self.free.remove(number)
                return number, self.maps[number], None
        for number in self.free:
            self.drop(number)
        self.dropped, self.free = self.dropped + self.free, []
        # Longer batches that follow may find room in it.
        room = max(-(-(size + size // 8) // mmap.PAGESIZE), 1) * mmap.PAGESIZE
        descriptor = new_file(room)
        self.newest += 1
        self.maps[self.newest] = mmap.mmap(descriptor, room)
        return self.newest, self.maps[self.newest], descriptor

    def take_back(self, number, descriptor):
        """After `take`, if the buffer is not sent."""
        if descriptor is None:
            self.free.append(number)
        else:
            os.close(descriptor)
            self.drop(number)

    def take_dropped(self):
        dropped, self.dropped = self.dropped, []
        return dropped

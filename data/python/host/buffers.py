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


class Buffer:
    """Memory, and the places in it of the batch that was written last: the next one may have the same."""

    def __init__(self, number, descriptor, size):
        self.number, self.memory = number, mmap.mmap(descriptor, size)
        self.layout, self.places = None, []

    def write(self, fields, layout):
        columns = fields if layout.is_flat else list(columns_of(fields))
        if self.layout is not layout:
            self.layout, self.places = None, []
            self.places = [column.place(self.memory, offset) if column.form.bytes > 0 else None
                           for column, offset in zip(columns, layout.offsets)]
            self.layout = layout
        for column, place in zip(columns, self.places):
            if place is not None:
                column.write(place)

    def close(self):
        self.places = []
        try:
            self.memory.close()
        except BufferError:
            pass  # a traceback holds a view of it


class Buffers:
    """Buffers that levin gives back once it needs their batch no more."""

    def __init__(self):
        self.all, self.free, self.dropped = {}, [], []
        self.newest = 0

    def give_back(self, numbers):
        self.free.extend(numbers)

    def drop(self, number):
        self.all.pop(number).close()

    def take(self, size):
        """(the buffer, its descriptor if it is new or None)"""
        for number in self.free:
            if len(self.all[number].memory) >= size:
                self.free.remove(number)
                return self.all[number], None
        for number in self.free:
            self.drop(number)
        self.dropped, self.free = self.dropped + self.free, []
        # Longer batches that follow may find room in it.
        room = max(-(-(size + size // 8) // mmap.PAGESIZE), 1) * mmap.PAGESIZE
        descriptor = new_file(room)
        self.newest += 1
        self.all[self.newest] = Buffer(self.newest, descriptor, room)
        return self.all[self.newest], descriptor

    def take_back(self, buffer, descriptor):
        """After `take`, if the buffer is not sent."""
        if descriptor is None:
            self.free.append(buffer.number)
        else:
            os.close(descriptor)
            self.drop(buffer.number)

    def take_dropped(self):
        dropped, self.dropped = self.dropped, []
        return dropped

"""A worker that goes through an iterable data set, or a DataLoader, batch after batch."""


def set_epoch(data, epoch):
    """Tells all parts that ask for it, as Lightning does."""
    for part in (data, getattr(data, "dataset", None), getattr(data, "sampler", None), getattr(data, "batch_sampler", None)):
        if callable(getattr(part, "set_epoch", None)):
            part.set_epoch(epoch)


class Stream:
    """One epoch. Its units are samples, or ready batches of a DataLoader. The ranks divide it round by round: a round has a
    batch for each, and the last one as many as are left."""

    def __init__(self, data, names, is_batches, request):
        self.data, self.names, self.is_batches = data, names, is_batches
        self.rank, self.world = request["rank"], request["world"]
        self.units_of_round = self.world * (1 if is_batches else request["batch_size"])
        self.drop_last = request["drop_last"] and not is_batches
        self.has_state = callable(getattr(data, "state_dict", None)) and callable(getattr(data, "load_state_dict", None))
        self.samples, self.batches = request["samples"], request["batches"]
        set_epoch(data, request["epoch"])
        seed_generators(seed_of(request["seed"], request["epoch"], *request["salt"]))
        self.units = self.open(request["state"])
        self.failed = None  # the exception of reading ahead, which is that of the next batch
        self.ahead = self.read()

    def open(self, state):
        if state is not None:
            own, generators = state_of_text(state)
            self.data.load_state_dict(own)
            units = iter(self.data)
            set_generator_states(generators)
            return units
        units = iter(self.data)
        for done in range(self.batches if self.is_batches else self.samples):
            if next(units, self) is self:
                raise ValueError(f"the place to continue from is behind {'batch' if self.is_batches else 'sample'} {done}, "
                                 "where the data end; they are other data than those of the saved run")
        return units

    def read(self):
        """(the units of a round, the state behind it)"""
        units = []
        while len(units) < self.units_of_round:
            unit = next(self.units, self)
            if unit is self:
                break
            units.append(fields_of(unit, self.names) if self.is_batches else unit)
        state = None
        if self.has_state and units:
            state = state_text((self.data.state_dict(), generator_states()))
        return units, state

    def read_ahead(self):
        try:
            self.ahead = self.read()
        except Exception as error:
            self.failed = error

    def is_enough(self, units):
        return len(units) == self.units_of_round if self.drop_last else bool(units)

    def part(self, units):
        """(the units of this rank, whether it has any); a rank without gets one of another."""
        count = len(units)
        whole, more = divmod(count, self.world)
        begin = self.rank * whole + min(self.rank, more)
        own = units[begin:begin + whole + (self.rank < more)]
        return own or [units[self.rank % count]], not own

    def next(self, writer):
        if self.failed:
            raise self.failed
        units, state = self.ahead
        if not self.is_enough(units):
            return {"end": True}, None
        part, is_absent = self.part(units)
        fields = part[0] if self.is_batches else self.collate(part)
        self.samples += sum(map(rows_of, units)) if self.is_batches else len(units)
        self.batches += len(units) if self.is_batches else 0
        message, descriptor = writer.write(fields)
        self.read_ahead()
        is_last = not self.failed and not self.is_enough(self.ahead[0])
        return {**message, "samples": rows_of(fields), "absent": is_absent, "last": is_last, "position": self.samples,
                "batches": self.batches, "state": state}, descriptor

    def collate(self, samples):
        own = getattr(self.data, "collate_fn", None)
        return fields_of(own(samples), self.names) if own else collate(samples, self.names)


def serve_stream(channel, data, names, is_batches):
    buffers = Buffers()
    writer = Writer(buffers)
    stream = None
    while True:
        request = channel.receive()
        buffers.give_back(request["free"])
        try:
            if stream is None:
                stream = Stream(data, names, is_batches, request["open"])
            channel.send(*stream.next(writer))
        except Exception as error:
            writer.told = None  # it may not have been sent
            channel.send(error_message(error))

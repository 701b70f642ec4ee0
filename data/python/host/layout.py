"""Where the fields of a batch lie in a buffer."""


def columns_of(fields):
    for field in fields:
        if isinstance(field, Items):
            for sample in field.samples:
                yield from columns_of(sample)
        else:
            yield field


class Layout:
    """The places of fields in a buffer of `size` bytes, and what levin is told of them."""

    ALIGNED = 64

    def __init__(self, fields):
        self.offsets, self.size = [], 0  # of the columns, in order
        self.is_flat = not any(isinstance(field, Items) for field in fields)
        self.described = self.describe(fields)

    def describe(self, fields):
        return [{"name": plain(field.name), "items": [self.describe(sample) for sample in field.samples]}
                if isinstance(field, Items) else self.placed(field.form) for field in fields]

    def placed(self, form):
        offset = self.size
        self.offsets.append(offset)
        self.size += -(-form.bytes // self.ALIGNED) * self.ALIGNED
        return {"name": plain(form.name), "dtype": form.dtype, "sizes": form.shape, "strides": form.strides, "offset": offset}


class Writer:
    """Writes fields into a buffer, and says where each stands if that differs from what was said last."""

    MOST = 64

    def __init__(self, buffers):
        self.buffers = buffers
        self.layouts, self.told = {}, None

    def layout_of(self, fields):
        forms = tuple([field.form for field in fields])
        layout = self.layouts.get(forms)
        if layout is None:
            layout = Layout(fields)
            if layout.is_flat:  # the fields of a list's samples differ from batch to batch
                if len(self.layouts) >= self.MOST:
                    self.layouts.clear()
                self.layouts[forms] = layout
        return layout

    def write(self, fields):
        """(the message, the descriptor of a new buffer or None)"""
        layout = self.layout_of(fields)
        buffer, descriptor = self.buffers.take(layout.size)
        try:
            buffer.write(fields, layout)
        except BaseException:
            self.buffers.take_back(buffer, descriptor)
            raise
        message = {"buffer": buffer.number}
        if descriptor is not None:
            message["bytes"] = len(buffer.memory)
            message["dropped"] = self.buffers.take_dropped()
        if layout is not self.told:
            message["fields"], self.told = layout.described, layout
        return message, descriptor

"""Pillow and this file write images of many kinds, images_tool reads them, and the pixels are compared.

usage: images_python_test.py TOOL [CASES]
"""

import io
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

try:
    import numpy
    from PIL import Image, ImageOps
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

LUMINANCE = (299, 587, 114)


def png(pixels, depth=8):
    """A PNG of [height, width, channels], 1 to 4 channels of 8 or 16 bits."""
    height, width, channels = pixels.shape
    rows = pixels.astype(">u2" if depth == 16 else "u1")
    data = b"".join(b"\0" + rows[y].tobytes() for y in range(height))

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, depth, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def tiff(pixels, depth=8, order="<", tile=0, planar=False, deflate=False, white_is_zero=False, orientation=1):
    """A TIFF of [height, width, channels]; `tile`: the side of its tiles, a multiple of 16."""
    height, width, channels = pixels.shape
    values = pixels.astype(f"{order}u2" if depth == 16 else "u1")
    planes = [values[:, :, c : c + 1] for c in range(channels)] if planar else [values]
    blocks = []
    for plane in planes:
        if tile:
            for top in range(0, height, tile):
                for left in range(0, width, tile):
                    block = numpy.zeros((tile, tile, plane.shape[2]), values.dtype)
                    part = plane[top : top + tile, left : left + tile]
                    block[: part.shape[0], : part.shape[1]] = part
                    blocks.append(block.tobytes())
        else:
            blocks += [plane[top : top + 3].tobytes() for top in range(0, height, 3)]
    if deflate:
        blocks = [zlib.compress(block) for block in blocks]
    places, at = [], 8
    for block in blocks:
        places.append(at)
        at += len(block)
    directory, beside = at + at % 2, b""
    tags = [(256, 4, [width]), (257, 4, [height]), (258, 3, [depth] * channels), (259, 3, [8 if deflate else 1]),
            (262, 3, [2 if channels >= 3 else 0 if white_is_zero else 1]), (274, 3, [orientation]), (277, 3, [channels]),
            (284, 3, [2 if planar else 1])]
    if channels in (2, 4):
        tags.append((338, 3, [2]))
    sizes = [len(block) for block in blocks]
    if tile:
        tags += [(322, 4, [tile]), (323, 4, [tile]), (324, 4, places), (325, 4, sizes)]
    else:
        tags += [(273, 4, places), (278, 4, [3]), (279, 4, sizes)]
    tags.sort()
    behind = directory + 2 + 12 * len(tags) + 4
    entries = b""
    for tag, kind, numbers in tags:
        body = struct.pack(f"{order}{len(numbers)}{'H' if kind == 3 else 'I'}", *numbers)
        if len(body) > 4:
            place = struct.pack(f"{order}I", behind + len(beside))
            beside += body + b"\0" * (len(body) % 2)
        else:
            place = body.ljust(4, b"\0")
        entries += struct.pack(f"{order}HHI", tag, kind, len(numbers)) + place
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", directory)
    body = b"".join(blocks) + b"\0" * (at % 2)
    return head + body + struct.pack(f"{order}H", len(tags)) + entries + struct.pack(f"{order}I", 0) + beside


def drawn(generator, channels, depth=8):
    height, width = (int(n) for n in generator.integers(1, 40, 2))
    return generator.integers(0, 1 << depth, (height, width, channels), dtype=numpy.int64)


def smooth(generator):
    y, x = numpy.mgrid[0 : int(generator.integers(9, 60)), 0 : int(generator.integers(9, 60))]
    waves = [128 + 100 * numpy.sin(x / generator.uniform(5, 20) + y / generator.uniform(5, 20)) for _ in range(3)]
    return numpy.stack(waves, 2).astype("u1")


def exif_of(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def turned(pixels, orientation):
    """The pixels as they are meant, where they are stored by this orientation."""
    if orientation >= 5:
        pixels = pixels.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return pixels[:, ::-1] if orientation in (2, 3, 6, 7) else pixels


class Cases:
    def __init__(self, folder):
        self.folder = folder
        self.expected = {}  # name -> what is expected of each kind, and how much it may differ

    def add(self, name, content, most=0, **expected):
        (self.folder / name).write_bytes(content)
        self.expected[name] = (most, expected)

    def add_exact(self, name, content, pixels, depth=8, orientation=1):
        """An image of these values; alpha, the second or fourth channel, is dropped."""
        pixels = turned(pixels, orientation)
        seen = pixels[:, :, : 1 if pixels.shape[2] < 3 else 3].astype("f8")
        levels = numpy.floor(seen / 256) if depth == 16 else seen
        gray = levels if levels.shape[2] == 1 else numpy.floor(((levels * LUMINANCE).sum(2, keepdims=True) + 500) / 1000)
        all_bits = depth == 8 or seen.shape[2] == 1  # masks of colours have bytes
        self.add(name, content, bytes=numpy.broadcast_to(levels, (*levels.shape[:2], 3)), gray=gray,
                 numbers=numpy.broadcast_to(seen / ((1 << depth) - 1), (*seen.shape[:2], 3)),
                 indices=seen if all_bits else levels)

    def add_pillow(self, name, image, most=0, **options):
        file = io.BytesIO()
        image.save(file, name.rsplit(".", 1)[1].replace("jpg", "jpeg").replace("tif", "tiff"), **options)
        with Image.open(io.BytesIO(file.getvalue())) as read:
            self.add(name, file.getvalue(), most, bytes=numpy.asarray(ImageOps.exif_transpose(read).convert("RGB")))


def write_cases(folder, count):
    cases = Cases(folder)
    generator = numpy.random.default_rng(7)
    for i in range(count):
        for channels in (1, 2, 3, 4):
            for depth in (8, 16):
                pixels = drawn(generator, channels, depth)
                cases.add_exact(f"{i}_{channels}_{depth}.png", png(pixels, depth), pixels, depth)
                layout = {"order": "<>"[int(generator.integers(2))], "tile": int(generator.integers(2)) * 16,
                          "planar": bool(generator.integers(2)), "deflate": bool(generator.integers(2)),
                          "orientation": int(generator.integers(1, 9))}
                cases.add_exact(f"{i}_{channels}_{depth}.tif", tiff(pixels, depth, **layout), pixels, depth,
                                layout["orientation"])
        pixels = drawn(generator, 1)
        cases.add(f"{i}_white.tif", tiff(pixels, white_is_zero=True), gray=255 - pixels, indices=pixels)
        indices = drawn(generator, 1).astype("u1")[:, :, 0]
        palette = Image.fromarray(indices)
        palette.putpalette(generator.integers(0, 256, 768).astype("u1").tobytes(), "RGB")
        colours = numpy.asarray(palette.convert("RGB"))
        for kind in ("png", "tif"):
            file = io.BytesIO()
            palette.save(file, kind.replace("tif", "tiff"))
            cases.add(f"{i}_palette.{kind}", file.getvalue(), bytes=colours, indices=indices[:, :, None])
        few = Image.fromarray((indices % 4).astype("u1"))
        few.putpalette(list(range(12)), "RGB")
        file = io.BytesIO()
        few.save(file, "png", bits=2)
        cases.add(f"{i}_two_bits.png", file.getvalue(), indices=(indices % 4)[:, :, None])
        bits = Image.fromarray(indices > 100)
        for kind, options in (("png", {}), ("tif", {"compression": "group4"}), ("tif", {})):
            file = io.BytesIO()
            bits.save(file, kind.replace("tif", "tiff"), **options)
            cases.add(f"{i}_bits_{len(options)}.{kind}", file.getvalue(), gray=(indices > 100)[:, :, None] * 255)
        picture = Image.fromarray(smooth(generator))
        for compression in ("raw", "tiff_lzw", "tiff_deflate", "packbits"):
            cases.add_pillow(f"{i}_{compression}.tif", picture, compression=compression)
        cases.add_pillow(f"{i}_jpeg.tif", picture, most=3, compression="jpeg")
        cases.add_pillow(f"{i}_lossless.webp", picture, lossless=True)
        cases.add_pillow(f"{i}_lossy.webp", picture, most=1, quality=80)
        clear = picture.copy()
        clear.putalpha(picture.getchannel(0))
        cases.add_pillow(f"{i}_clear.webp", clear, lossless=True, exact=True)
        orientation = int(generator.integers(1, 9))
        for kind, options in (("jpg", {"quality": 90}), ("png", {}), ("webp", {"lossless": True})):
            cases.add_pillow(f"{i}_turned_{orientation}.{kind}", picture, most=1 if kind == "jpg" else 0,
                             exif=exif_of(orientation), **options)
    moving = [Image.fromarray(smooth(generator)).resize((20, 20)) for _ in range(2)]
    moving[0].save(folder / "moving.webp", save_all=True, append_images=moving[1:])
    Image.fromarray(numpy.ones((4, 4), "f4")).save(folder / "float.tif")
    whole = (folder / "0_3_8.tif").read_bytes()
    (folder / "cut.tif").write_bytes(whole[: len(whole) // 2])
    whole = (folder / "0_lossless.webp").read_bytes()
    (folder / "cut.webp").write_bytes(whole[: len(whole) // 2])
    return cases.expected


def main():
    tool, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 12
    with tempfile.TemporaryDirectory() as scratch:
        folder, out = pathlib.Path(scratch) / "images", pathlib.Path(scratch) / "out"
        folder.mkdir()
        out.mkdir()
        expected = write_cases(folder, count)
        done = subprocess.run([tool, folder, out], capture_output=True, text=True, check=True)
        refused = dict(line.split(": ", 1) for line in done.stdout.splitlines())
        compared = 0
        for name, (most, kinds) in expected.items():
            for kind, wanted in kinds.items():
                assert f"{name} {kind}" not in refused, (name, kind, refused[f"{name} {kind}"])
                read = numpy.load(out / f"{name}.{kind}.npy").transpose(1, 2, 0).astype("f8")
                assert read.shape == wanted.shape, (name, kind, read.shape, wanted.shape)
                difference = numpy.abs(read - wanted.astype("f8")).max()
                assert difference <= (1e-7 if kind == "numbers" else most), (name, kind, difference)
                compared += 1
        for name, message in (("moving.webp bytes", "of several images"), ("float.tif bytes", "32 bits of floating point"),
                              ("cut.tif bytes", "broken TIFF data"), ("cut.webp bytes", "WebP"),
                              ("0_lossless.webp indices", "save masks as PNG"), ("0_turned", "")):
            found = [text for key, text in refused.items() if key.startswith(name)] or [""]
            assert message in found[0], (name, found)
        assert compared > 20 * count, compared
        print(f"{compared} images are as Python wrote them")


if __name__ == "__main__":
    main()

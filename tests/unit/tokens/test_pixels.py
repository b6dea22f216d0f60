import base64
import struct
import zlib

import pytest

from proxy.tokens.pixels import size_of, size_of_base64, size_of_data_uri


def png(width, height):
    body = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + body + struct.pack(">I", zlib.crc32(b"IHDR" + body))


def jpeg(width, height, before=b""):
    frame = b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03" + b"\0" * 9
    return b"\xff\xd8" + before + frame


EXIF = b"\xff\xe1" + struct.pack(">H", 502) + b"x" * 500
LOSSLESS = (640 - 1) | (480 - 1) << 14


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (png(1_024, 768), (1_024, 768)),
        (b"GIF89a" + struct.pack("<HH", 320, 200), (320, 200)),
        (jpeg(640, 480), (640, 480)),
        (jpeg(640, 480, EXIF), (640, 480)),
        (jpeg(640, 480, b"\xff\xff\xff\xd0" + EXIF), (640, 480)),
        (b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\x7f\x02\x00\xdf\x01\x00", (640, 480)),
        (b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 640, 480), (640, 480)),
        (b"RIFF\0\0\0\0WEBPVP8L" + b"\0\0\0\0\x2f" + struct.pack("<I", LOSSLESS), (640, 480)),
    ],
    ids=["png", "gif", "jpeg", "jpeg with exif", "jpeg with fill", "webp extended", "webp lossy", "webp lossless"],
)
def test_reads_the_size_from_the_header(data, size):
    """
    The first bytes say how large the picture is.
    """
    assert size_of(data) == size


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"text",
        png(0, 5),
        png(5, 5)[:20],
        b"GIF89a\x01",
        b"\xff\xd8\xff\xe1\xff\xff",
        b"\xff\xd8" + b"\0" * 40,
        b"\xff\xd8\xff\xe1\x00\x00" * 9,
        b"RIFF\0\0\0\0WEBPVP8L",
        b"RIFF\0\0\0\0WEBPNONE" + b"\0" * 40,
    ],
)
def test_what_is_no_picture_has_no_size(data):
    """
    Damaged or foreign data is an image of unknown size, never an error or an endless loop.
    """
    assert size_of(data) is None


def test_reads_a_data_uri():
    """
    Screenshots come as data URIs.
    """
    uri = "data:image/png;base64," + base64.b64encode(png(800, 600)).decode() + "A" * 100_000

    assert size_of_data_uri(uri) == (800, 600)


@pytest.mark.parametrize(
    "uri", ["https://example.test/a.png", "data:image/svg+xml,<svg/>", "data:,", "data:image/png;base64,é", ""]
)
def test_an_address_is_never_fetched(uri):
    """
    Only what is inside the request can be read.
    """
    assert size_of_data_uri(uri) is None


def test_reads_bare_base64():
    """
    Some dialects carry the data without a URI around it.
    """
    assert size_of_base64(base64.b64encode(png(30, 40)).decode()) == (30, 40)

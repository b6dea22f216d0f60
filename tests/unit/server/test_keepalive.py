import pytest

from proxy.server.keepalive import asks_stream


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"stream":true}', True),
        (b'{"stream" : \n true, "messages":[]}', True),
        (b'{"messages":["' + b"x" * 5000 + b'"],"stream": true}', True),
        (b'{"a":"' + b"x" * 2000 + b'","stream":true,"b":"' + b"x" * 2000 + b'"}', True),
        (b'{"stream":false}', False),
        (b'{"stream_options":{}}', False),
        (b"", False),
    ],
)
def test_sees_whether_a_stream_is_asked_for(body, expected):
    """
    At the beginning, at the end, or in the middle of a long body.
    """
    assert asks_stream(body) is expected

import gzip
import hashlib
from collections.abc import AsyncIterator

import aiohttp
import pytest

from proxy.chat.json import dumps, loads

pytest_plugins = ["tests.support.fake_upstream"]


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        yield session


async def get(http, upstream, path):
    async with http.get(upstream.url + path, allow_redirects=False) as response:
        return response.status, await response.read()


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (None, None),
        ("max_model_len", ("max_model_len", 8_192)),
        ("context_length", ("context_length", 8_192)),
        ("meta.n_ctx", ("meta", {"n_ctx": 8_192})),
    ],
)
async def test_models_state_the_window_where_that_server_does(http, upstream_factory, field, expected):
    """
    Servers state their window in fields of their own, or not at all.
    """
    upstream = await upstream_factory(window=8_192, models_field=field)

    entry = loads((await get(http, upstream, "/models"))[1])["data"][0]

    more = {name: value for name, value in entry.items() if name not in {"id", "object", "created", "owned_by"}}
    assert more == (dict([expected]) if expected else {})


async def test_one_model_can_be_asked_for(http, upstream):
    """
    A known name is described, an unknown one answered 404.
    """
    statuses = [(await get(http, upstream, f"/models/{name}"))[0] for name in ("sim-model", "other")]

    assert statuses == [200, 404]


async def test_native_endpoints_state_the_window(http, upstream_factory):
    """
    As llama.cpp and Ollama do beside the OpenAI paths.
    """
    upstream = await upstream_factory(window=4_096, native_window=True)
    root = upstream.url.removesuffix("/v1")

    async with http.get(root + "/props") as props, http.post(root + "/api/show", data=b"{}") as shown:
        stated = (loads(await props.read()), loads(await shown.read()))

    assert stated[0]["default_generation_settings"]["n_ctx"] == 4_096
    assert stated[1]["model_info"]["sim.context_length"] == 4_096


async def test_embeddings_are_one_vector_a_text(http, upstream):
    """
    The same text has the same vector.
    """
    async with http.post(upstream.url + "/embeddings", data=dumps({"input": ["a", "b", "a"]})) as response:
        vectors = [entry["embedding"] for entry in loads(await response.read())["data"]]

    assert vectors[0] == vectors[2] != vectors[1]


async def test_audio_echoes_the_digest_of_the_form(http, upstream):
    """
    A proxy that touched a byte of the form is found out.
    """
    form = aiohttp.FormData()
    form.add_field("file", bytes(range(256)), filename="a.wav", content_type="audio/wav")

    async with http.post(upstream.url + "/audio/transcriptions", data=form) as response:
        told = loads(await response.read())

    body = upstream.received[0].body
    assert told["multipart_intact"]
    assert (told["sha256"], told["size"]) == (hashlib.sha256(body).hexdigest(), len(body))


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_echoes_every_other_path(http, upstream, method):
    """
    Method, path and query come back as they were sent.
    """
    async with http.request(method, upstream.url + "/files/a%2Fb?x=%20y&x=z", data=b"body") as response:
        told = loads(await response.read())

    assert (told["method"], told["path"], told["query"]) == (method, "/v1/files/a%2Fb", "x=%20y&x=z")
    assert told["sha256"] == hashlib.sha256(b"body").hexdigest()


async def test_keeps_headers_in_order_and_in_their_case(http, upstream):
    """
    Headers are remembered as they came.
    """
    await http.get(upstream.url + "/echo", headers=[("X-Two", "b"), ("x-one", "a"), ("X-Two", "c")])

    sent = [pair for pair in upstream.received[0].headers if pair[0].lower().startswith("x-")]
    assert sent == [("X-Two", "b"), ("x-one", "a"), ("X-Two", "c")]


async def test_keeps_a_packed_body_packed(http, upstream):
    """
    The bytes stay as sent, the fields are read all the same.
    """
    packed = gzip.compress(dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}), mtime=0)

    await http.post(upstream.url + "/chat/completions", data=packed, headers={"Content-Encoding": "gzip"})

    assert (upstream.received[0].body, upstream.received[0].model) == (packed, "m")


@pytest.mark.parametrize(
    ("path", "status", "size"),
    [("/nothing", 204, 0), ("/unchanged", 304, 0), ("/redirect", 307, 0), ("/binary", 200, 256 * 64)],
)
async def test_odd_answers(http, upstream, path, status, size):
    """
    Answers without a body, redirects and binary ones.
    """
    answered, body = await get(http, upstream, path)

    assert (answered, len(body)) == (status, size)


async def test_a_gzip_answer_unpacks_to_the_binary(http, upstream):
    """
    The encoding is the server's own.
    """
    _, packed = await get(http, upstream, "/gzip")
    _, binary = await get(http, upstream, "/binary")

    assert gzip.decompress(packed) == binary


async def test_head_has_headers_and_no_body(http, upstream):
    """
    HEAD is answered like GET without the body.
    """
    async with http.head(upstream.url + "/binary") as response:
        assert (response.status, response.headers["content-length"], await response.read()) == (200, "16384", b"")


async def test_a_large_stream_is_whole(http, upstream):
    """
    A megabyte of events ends with the end.
    """
    _, body = await get(http, upstream, "/large")

    assert len(body) > 1_000_000
    assert body.endswith(b"data: [DONE]\n\n")

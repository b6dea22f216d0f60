import re

import pytest

from proxy.chat.json import loads
from proxy.simulator.refusals import Effect, Refusal, StreamForm, refuse
from proxy.simulator.wordings import WORDINGS

TOO_LONG = Refusal(prompt=91_357, output=1_024, limit=65_536, model="sim-model", tools=1_500)
TOO_MUCH_OUTPUT = Refusal(prompt=60_111, output=8_192, limit=65_536)
REFUSING = [name for name, wording in WORDINGS.items() if wording.effect is Effect.REFUSE]
NUMBERLESS = {"openai-numberless", "groq", "nginx", "long-context-tier", "bare"}

# Status and a few words of each kind of server.
EXPECTED = {
    "openai": (400, "maximum context length is 65536 tokens. However, your messages resulted in 91357 tokens"),
    "openai-numberless": (400, "Your input exceeds the context window of this model"),
    "openai-tpm": (429, "tokens per min (TPM): Limit 65536, Requested 92381"),
    "azure": (400, "Input tokens exceed the configured limit of 65536 tokens"),
    "anthropic": (400, "prompt is too long: 91357 tokens > 65536 maximum"),
    "gemini": (400, "input token count (91357) exceeds the maximum number of tokens allowed (65536)"),
    "openrouter": (400, "about 92381 tokens (89857 of text input, 1500 of tool input, 1024 in the output)"),
    "vllm": (400, "your request has 91357 input tokens"),
    "vllm-old": (400, "you requested 92381 tokens (91357 in the messages, 1024 in the completion)"),
    "sglang": (400, "The input (91357 tokens) is longer than the model's context length (65536 tokens)"),
    "sglang-sse": (400, "The input (91357 tokens) is longer"),
    "llamacpp": (400, "request (91357 tokens) exceeds the available context size (65536 tokens)"),
    "llama-cpp-python": (400, "you requested 92381 tokens"),
    "ollama": (400, "request (91357 tokens) exceeds the available context size"),
    "lmstudio": (400, "(n_keep: 91357 >= n_ctx: 65536)"),
    "tgi": (422, "`inputs` must have less than 65536 tokens. Given: 91357"),
    "groq": (400, "Please reduce the length of the messages or completion"),
    "groq-tpm": (413, "tokens per minute (TPM): Limit 65536, Requested 92381"),
    "mistral": (400, "Prompt contains 91357 tokens and 0 draft tokens"),
    "deepseek": (400, "maximum context length is 65536 tokens"),
    "dashscope": (400, "Range of input length should be [1, 65536]"),
    "litellm": (400, "litellm.ContextWindowExceededError"),
    "github-models": (413, "Max size: 65536 tokens"),
    "nginx": (413, "413 Request Entity Too Large"),
    "long-context-tier": (429, "Extra usage is required for long context requests"),
    "bare": (400, "Input is too long for requested model"),
}


@pytest.mark.parametrize("name", REFUSING)
def test_each_wording_has_its_status_and_text(name):
    """
    A refusal is answered as that kind of server answers it.
    """
    reply = refuse(WORDINGS[name], TOO_LONG, stream=False)

    status, words = EXPECTED[name]
    assert (reply.status, words in reply.body.decode()) == (status, True)


@pytest.mark.parametrize("name", sorted(set(REFUSING) - NUMBERLESS))
def test_states_the_request_s_own_limit(name):
    """
    The numbers are never those of the table.
    """
    reply = refuse(WORDINGS[name], TOO_LONG, stream=False)

    assert b"65536" in reply.body


@pytest.mark.parametrize("name", sorted(NUMBERLESS))
def test_numberless_wordings_state_no_number_of_the_request(name):
    """
    Some servers say nothing that could be learned.
    """
    reply = refuse(WORDINGS[name], TOO_LONG, stream=False)

    assert not re.search(rb"65536|91357|92381", reply.body)


@pytest.mark.parametrize("name", [name for name in REFUSING if name != "nginx"])
def test_refusals_are_json(name):
    """
    All but the web server's page parse.
    """
    reply = refuse(WORDINGS[name], TOO_LONG, stream=False)

    assert loads(reply.body)


@pytest.mark.parametrize("name", [name for name in REFUSING if WORDINGS[name].counts_output])
def test_servers_that_count_the_output_say_so(name):
    """
    A prompt that fits on its own is refused for prompt and output together.
    """
    text = refuse(WORDINGS[name], TOO_MUCH_OUTPUT, stream=False).body.decode()

    assert re.search(r"8192|68303|57345", text)


def test_gemini_answers_an_array():
    """
    The body is a list of one error.
    """
    body = loads(refuse(WORDINGS["gemini"], TOO_LONG, stream=False).body)

    assert [*body[0]] == ["error"]


def test_ollama_wraps_json_in_a_string():
    """
    The error is the text of another server's error.
    """
    body = loads(refuse(WORDINGS["ollama"], TOO_LONG, stream=False).body)

    assert loads(body["error"].encode())["error"]["n_ctx"] == 65_536


def test_llamacpp_closes_the_connection():
    """
    Every error of llama.cpp ends the connection.
    """
    assert refuse(WORDINGS["llamacpp"], TOO_LONG, stream=False).close


@pytest.mark.parametrize(
    ("name", "chunks"),
    [("sglang-sse", 2), ("lmstudio", 1), ("llama-cpp-python", 0)],
)
def test_some_servers_refuse_inside_a_stream(name, chunks):
    """
    The status is 200 and the refusal is an event, or nothing at all.
    """
    reply = refuse(WORDINGS[name], TOO_LONG, stream=True)

    assert (reply.status, len(reply.chunks)) == (200, chunks)


@pytest.mark.parametrize("name", [name for name in REFUSING if WORDINGS[name].stream is StreamForm.SAME])
def test_the_others_refuse_a_stream_with_their_status(name):
    """
    Asking for a stream changes nothing.
    """
    refused = refuse(WORDINGS[name], TOO_LONG, stream=True)

    assert refused == refuse(WORDINGS[name], TOO_LONG, stream=False)

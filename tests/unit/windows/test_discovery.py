import pytest

from proxy.windows.discovery import parse_models, parse_ollama_show, parse_props


def models(**row):
    return {"object": "list", "data": [{"id": "other", "object": "model"}, {"id": "m", "object": "model", **row}]}


@pytest.mark.parametrize(
    ("row", "window"),
    [
        ({"max_model_len": 16_384}, 16_384),
        ({"context_length": 131_072}, 131_072),
        ({"context_length": 131_072, "top_provider": {"context_length": 65_536}}, 65_536),
        ({"context_window": 8_192}, 8_192),
        ({"max_context_length": 32_768}, 32_768),
        ({"max_context_length": 32_768, "loaded_context_length": 4_096}, 4_096),
        ({"meta": {"n_ctx_train": 131_072, "n_ctx": 2_048}}, 2_048),
        ({"capabilities": {"limits": {"max_context_window_tokens": 64_000}}}, 64_000),
        ({"context_length": "4096"}, 4_096),
        ({"context_length": 4096.0}, 4_096),
        ({"meta": {"n_ctx_train": 131_072}}, None),
        ({"context_length": 0}, None),
        ({"context_length": True}, None),
        ({"context_length": None}, None),
    ],
)
def test_reads_the_window_of_each_kind_of_server(row, window):
    """
    vLLM, OpenRouter, Groq, Mistral, LM Studio, llama.cpp and Copilot each have a field of their own.
    """
    assert parse_models(models(**row), "m") == window


def test_the_only_model_of_a_server_answers_to_any_name():
    """
    llama.cpp serves its one model whatever the client calls it.
    """
    data = {"data": [{"id": "/models/x.gguf", "meta": {"n_ctx": 8_192}}]}

    assert parse_models(data, "gpt-4o") == 8_192


def test_a_model_that_is_not_listed_has_no_window():
    """
    Another model's window says nothing.
    """
    assert parse_models({"data": [{"id": "a", "n_ctx": 8_192}, {"id": "b", "n_ctx": 4_096}]}, "c") is None


@pytest.mark.parametrize("data", [None, [], {}, "text", 3, {"data": None}, {"data": [1, None]}, {"data": {"id": "m"}}])
def test_answers_of_another_shape_say_nothing(data):
    """
    A proxy page or an error body is no list of models.
    """
    assert parse_models(data, "m") is None


def test_reads_one_models_own_page():
    """
    ``/models/NAME`` has the row itself.
    """
    assert parse_models({"id": "m", "context_length": 4_096}, "m") == 4_096


@pytest.mark.parametrize(
    ("data", "window"),
    [
        ({"default_generation_settings": {"n_ctx": 4_096}, "total_slots": 4}, 4_096),
        ({"n_ctx": 2_048}, 2_048),
        ({"default_generation_settings": []}, None),
        (None, None),
    ],
)
def test_reads_the_window_of_one_slot(data, window):
    """
    llama.cpp divides its context between slots; the settings of a slot have what one request gets.
    """
    assert parse_props(data) == window


@pytest.mark.parametrize(
    ("data", "window"),
    [
        ({"parameters": 'stop "<|end|>"\nnum_ctx    8192', "model_info": {"llama.context_length": 131_072}}, 8_192),
        ({"modelfile": "FROM x\nPARAMETER num_ctx 16384\n", "model_info": {"a.context_length": 131_072}}, 16_384),
        ({"model_info": {"general.name": "x", "qwen2.context_length": 32_768}}, 32_768),
        ({"parameters": "temperature 0.7", "model_info": {}}, None),
        ({"model_info": 3}, None),
        ([], None),
    ],
)
def test_the_served_window_of_ollama_is_num_ctx(data, window):
    """
    Ollama cuts prompts at num_ctx in silence, whatever the model could read.
    """
    assert parse_ollama_show(data) == window

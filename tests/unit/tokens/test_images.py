import pytest

from proxy.tokens.families import family_of
from proxy.tokens.images import UNKNOWN_IMAGE, image_tokens


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        ("gpt-4o", (1_024, 1_024), "high", 765),
        ("gpt-4o", (2_048, 4_096), "high", 1_105),
        ("gpt-4o", (4_096, 8_192), "low", 85),
        ("gpt-4o", (512, 512), "auto", 255),
        ("gpt-4o-mini", (1_024, 1_024), "high", 25_501),
        ("gpt-5", (1_024, 1_024), "high", 630),
        ("o3", (1_024, 1_024), "high", 675),
        ("gpt-4.1-mini", (1_024, 1_024), "high", 1_659),
        ("gpt-4.1-mini", (9_000, 9_000), "high", 2_489),
        ("gpt-5.2", (1_024, 1_024), "high", 1_229),
        ("gpt-5.2", (1_024, 1_024), "low", 308),
        ("claude-3-5-sonnet", (1_092, 1_092), "auto", 1_521),
        ("claude-3-5-sonnet", (5_000, 5_000), "auto", 1_568),
        ("claude-opus-4-7", (5_000, 5_000), "auto", 4_784),
        ("gemini-2.5-pro", (300, 300), "auto", 258),
        ("gemini-2.5-pro", (1_536, 768), "auto", 516),
        ("qwen2.5-vl", (560, 280), "auto", 200),
        ("my-model", (100, 100), "auto", UNKNOWN_IMAGE),
        ("my-model", None, "low", UNKNOWN_IMAGE),
        ("gemini-2.5-pro", None, "auto", UNKNOWN_IMAGE),
        ("gpt-4o", None, "low", 85),
        ("gpt-4o", None, "high", UNKNOWN_IMAGE),
        ("gpt-4o-mini", None, "high", 25_501),
    ],
)
def test_an_image_costs_what_its_family_charges(model, size, detail, tokens):
    """
    Tiles, patches and caps differ by family; what is unknown is 1,500 unless a family is known to charge far more.
    """
    assert image_tokens(family_of(model), size, detail) == tokens


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "claude-3-5-sonnet", "gemini-2.5-pro", "qwen2.5-vl"])
@pytest.mark.parametrize("size", [(1, 1), (1, 100_000), (100_000, 1), (65_535, 65_535)])
def test_odd_sizes_cost_something_finite(model, size):
    """
    A line of a single pixel is still an image.
    """
    assert 0 < image_tokens(family_of(model), size) < 2_000_000

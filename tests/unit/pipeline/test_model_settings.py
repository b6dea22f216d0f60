"""
What may be said of a model.
"""

import pytest
from pydantic import ValidationError

from proxy.pipeline.settings import ModelSettings


def test_the_vocabulary_of_the_package_may_be_named():
    """
    As the example configuration does.
    """
    assert ModelSettings(encoding="o200k_base").encoding == "o200k_base"


@pytest.mark.parametrize("name", ["cl100k_base", "claude", ""])
def test_a_vocabulary_that_is_not_there_is_refused(name):
    """
    A setting that silently does nothing is worse than a mistake that is explained.
    """
    with pytest.raises(ValidationError, match=r"can only be o200k_base.*other tokenizers are learned"):
        ModelSettings(encoding=name)

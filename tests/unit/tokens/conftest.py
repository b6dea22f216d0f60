import pytest

from proxy.tokens.vocabulary import Vocabulary


@pytest.fixture(scope="session")
def vocabulary():
    """
    The real vocabulary, loaded once.
    """
    loaded = Vocabulary()
    loaded.load()
    return loaded

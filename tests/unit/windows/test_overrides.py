from proxy.windows.names import words
from proxy.windows.overrides import WINDOWS


def test_each_override_says_why():
    """
    An override without a reason cannot be removed when the table improves.
    """
    assert all(window >= 2_048 and why for _, window, why in WINDOWS)


def test_no_name_stands_twice():
    """
    Of two entries for one name only one could ever be found.
    """
    names = [words(name) for name, *_ in WINDOWS]

    assert len(names) == len(set(names))

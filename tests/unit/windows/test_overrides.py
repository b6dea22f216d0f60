from proxy.windows.names import words
from proxy.windows.overrides import OUTPUTS, WINDOWS


def test_each_override_says_why():
    """
    An override without a reason cannot be removed when the table improves.
    """
    assert all(window >= 2_048 and why for _, window, why in WINDOWS)


def test_no_name_stands_twice():
    """
    Of two entries for one name only one could ever be found.
    """
    for names in ([words(name) for name, *_ in WINDOWS], [words(name) for name, _ in OUTPUTS]):
        assert len(names) == len(set(names))

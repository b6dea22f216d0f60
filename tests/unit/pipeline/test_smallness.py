"""
What was proved of one size holds for others, for as long as nothing else is known.
"""

from proxy.pipeline.smallness import _Proven

BASIS = ("calibration", None, None, 0)
CALIBRATED = ("another", None, None, 0)
LESSON = ("calibration", None, None, 1)


def test_what_is_smaller_than_something_small_is_small() -> None:
    """
    By the same basis; by another it has to be found out again.
    """
    proven = _Proven().after(BASIS, 500, small=True).after(BASIS, 300, small=True)

    assert [proven.tells(BASIS, size) for size in (300, 500, 501)] == [True, True, None]
    assert proven.tells(CALIBRATED, 300) is None
    assert proven.after(CALIBRATED, 100, small=True).tells(CALIBRATED, 300) is None


def test_what_is_larger_than_something_that_was_not_is_counted() -> None:
    """
    Whatever the calibration; a limit that was learned or forgotten lets it be tried again.
    """
    proven = _Proven().after(BASIS, 500, small=True).after(BASIS, 900, small=False).after(BASIS, 700, small=False)

    assert [proven.tells(BASIS, size) for size in (500, 699, 700, 900)] == [True, None, False, False]
    assert (proven.tells(CALIBRATED, 700), proven.tells(LESSON, 700)) == (False, None)
    assert proven.after(LESSON, 100, small=True).tells(LESSON, 700) is None

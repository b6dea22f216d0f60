"""
Token estimates and their calibration.

    counter.py       messages and what travels beside them, cached by content (cache.py)
    vocabulary.py    the packaged o200k_base (table.py); estimate.py serves until it is loaded
    bound.py         tokens <= bytes, without parsing
    media.py         images (images.py, pixels.py), audio, files; opaque.py tells blobs from text
    calibration.py   our tokens into a model's; families.py has the priors
"""

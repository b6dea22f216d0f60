"""
Which model has which window, tiers, learned limits.

    resolve.py      config > upstream > learned > table > default
    table.py        the packaged table (names.py takes model names apart, overrides.py corrects it)
    discovery.py    reads what servers say of themselves
    learned.py      which stated limits are believed; truncation.py: which answers betray a cut prompt
    reserve.py      reserve, usable, threshold; tiers.py: temporary targets of a retry
"""

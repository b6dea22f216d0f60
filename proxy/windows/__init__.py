"""
Which model has which window, tiers, learned limits.
"""

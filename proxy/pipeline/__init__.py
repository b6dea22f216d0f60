"""
The life of one exchange as named steps; background work; the only room that touches stores.
"""

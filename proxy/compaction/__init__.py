"""
The pure phases of a compaction: prune, bound, assemble, repair, validate.
"""

"""
The engine seam, with the ``compressor`` and the plain ``window``.
"""

"""
Summarisers: ``llm`` asks a model, ``extractive`` needs none.
"""

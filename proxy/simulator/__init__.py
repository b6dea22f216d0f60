"""
A scriptable OpenAI-compatible upstream, strict where real providers are strict.
"""

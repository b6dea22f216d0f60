"""
The chat-completions wire: the request view, messages, tool groups, roles, SSE, error bodies.

Rooms above speak of messages, groups and parts through these functions and never of raw JSON keys, so that other
dialects can come as siblings.
"""

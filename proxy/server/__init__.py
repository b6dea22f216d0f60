"""
The edge: listen, receive, relay, drain.
"""

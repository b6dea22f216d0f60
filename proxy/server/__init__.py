"""
The aiohttp edge: listen, receive, relay, drain.
"""

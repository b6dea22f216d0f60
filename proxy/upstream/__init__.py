"""
The client side of the proxy: headers, URLs, relay, window discovery, credentials.
"""

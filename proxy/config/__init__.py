"""
YAML and environment into frozen settings; mistakes are explained by path and line.
"""

"""
The verbs of the ``concertina`` command.
"""

"""
The speed suite: what the proxy costs, beside a bare hop and beside other proxies, measured in turn in one run.

    facts.py      machine and commit
    processes.py  start a server, and what it cost: CPU of its whole tree, memory
    upstreams.py  canned answers: nginx, or asyncio where there is none; paced event streams; the simulator
    bare.py       the yardstick: the smallest aiohttp-to-aiohttp proxy that streams
    targets.py    what is measured: direct, bare, this project, peers
    load.py       a raw load generator in a process of its own
    bodies.py     requests of every size
    cells.py      scenarios that are measured for every target in turn
    special.py    what only this project has: start, interference, growth, leak
    report.py     table, JSON and plot
"""

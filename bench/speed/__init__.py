"""
The speed suite: what the proxy costs, beside a bare hop and beside other proxies, measured in turn in one run.

    measuring     processes.py  start a server, and what it cost: CPU of its whole tree, memory
                  upstreams.py  canned answers: nginx, or asyncio where there is none; paced event streams; the simulator
                  bare.py       the yardstick: the smallest aiohttp-to-aiohttp proxy that streams
                  targets.py    what is measured: the bare hop, this project
                  peers.py      other proxies, installed when they are asked for
                  load.py       a raw load generator in a process of its own
                  probe.py      a small question every now and then, beside something large
    scenarios     bodies.py     requests of every size
                  cells.py      scenarios that are measured for every target in turn
                  measure.py    round after round, target after target
                  beside.py     small requests beside something large
                  recognise.py  what it costs to know a conversation again
                  special.py    start, growth, leak
    telling       figures.py    medians, spreads, ratios
                  goals.py      what it is meant to cost
                  compare.py    what is worse than in an earlier run
                  report.py     the table
                  plot.py       the picture
                  page.py       the newest figures in docs/speed.md
                  facts.py      machine and commit
"""

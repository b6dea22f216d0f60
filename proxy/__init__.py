"""
Concertina, a transparent compaction proxy for chat-completions clients. This page is the map of the house.

Imports only go down; rooms on one floor do not know each other (import-linter checks both).

    cli/          the verbs: serve, check, explain, doctor, demo, simulate, sessions, run, version
    serving.py    runs it, in this process or in several workers
    reloading.py  reads the settings again while it runs, on SIGHUP
    wiring.py     builds everything once, explicitly, from settings
    assembly.py   puts together what answers requests, from settings that may change at any time
    config/       YAML and environment into frozen settings; mistakes explained by path and line
    server/       the edge: listen, receive, relay, drain
    admin/        the admin port: metrics, stats, sessions, explain
    simulator/    a scriptable OpenAI-compatible upstream, strict where real providers are strict
    pipeline/     the life of one exchange as named steps; background work; the only room that touches stores
    engines/      the engine seam, with the ``compressor`` and the plain ``window``
    recovery/     what an upstream's refusal means, and the ladder of attempts that answers it
    summaries/    summarisers: ``llm``, and ``extractive``, which needs no model
    compaction/   the pure phases: prune, bound, assemble, repair, validate
    records/      conversation identity, compaction records, sessions, stores
    upstream/     the client side of the proxy: headers, URLs, relay, window discovery, credentials
    tokens/       estimates and calibration
    windows/      which model has which window, tiers, learned limits
    privacy/      redaction and the injection scan
    chat/         the wire: request view, messages, tool groups, roles, SSE, error bodies
    telemetry/    event and metric names, and their set-up
    errors.py     the error tree

Where to change a rule: what is folded, ``compaction/``; what counts as "too long", ``recovery/rules.py``; what a
summary says, ``summaries/``; how a conversation is recognised, ``records/identity.py``; the order of steps of one
exchange, ``pipeline/chat_completions.py``.
"""

__version__ = "0.1.0"

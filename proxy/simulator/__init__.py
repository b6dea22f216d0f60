"""
A scriptable OpenAI-compatible upstream, strict where real providers are strict.

    settings.py    what the simulator is: its window, its manners, its wording
    server.py      the listener: receive, remember, answer
    received.py    what is remembered of each request
    model.py       the make-believe model: measure, judge, refuse or answer
    turn.py        one request that is being answered, and the ways to answer it
    answers.py     bodies and streams of chat completions, completions and responses
    refusals.py    what a refusal is made of
    wordings.py    how each kind of server says "too long"
    rules.py       the judge: what strict providers refuse, written without the compaction code
    steps.py       the script: what comes next, and under which condition
    actions.py     what one step of the script does
    script_file.py  a script as YAML
    endpoints.py   models, embeddings, audio, odd answers, and the echo of all other paths
    prefix.py      the prompt cache: which leading rows were seen before
    counting.py    how prompt tokens are counted
    summaries.py   numbered summaries for summariser calls
    reply.py       an answer as a value
    wire.py        the value onto the wire, faults included
"""

"""
One configuration full of mistakes: each is found, at its line, in plain words, in one run.
"""

from pathlib import Path

import pytest

from proxy.config.load import load_settings
from proxy.errors import SettingsError

MISTAKEN = """\
listen: localhost                         # listen: is no address
workers: 0                                # workers: should be at least 1
wokers: 2                                 # wokers: is unknown; did you mean workers?
threshold_percent: 0.5                    # threshold_percent: is unknown here; it belongs at compaction.threshold_percent
mode: observe                             # mode: is unknown here; it belongs at compaction.mode
workers: 3                                # workers: is written twice, first on line 2
disclose: perhaps                         # disclose: should be true or false
plugins_dir: plugins                      # plugins_dir: should be an absolute path
otlp: collector:4318                      # otlp: should be a URL that begins with http:// or https://
client_keys: [""]                         # client_keys[0]: is no key
admin:
  listen: 127.0.0.1:99999                 # admin.listen: is no address
  token: 1234                             # admin.token: should be text; put it in quotes
log:
  level: inof                             # log.level: should be one of debug, info, warning, error; did you mean info?
  format: [json]                          # log.format: should be one of auto, json, console
limits:
  max_body: 64 parsecs                    # limits.max_body: is no size: write 64KiB, 10MB or 1GiB
  header_timeout: soon                    # limits.header_timeout: is no duration: write 30s
  json_depth: 1.5                         # limits.json_depth: should be a whole number
  inflight: many                          # limits.inflight: should be a whole number
  drain:                                  # limits.drain: is no duration
store:
  url: mysql://127.0.0.1/x                # store.url: should be memory://, sqlite:///PATH
  secret: ${NO_SUCH_SECRET}               # store.secret: variable NO_SUCH_SECRET is not set
  encryption_key: "${broken"              # store.encryption_key: holds a ${ that is no variable
  namespace: tenant                       # store.namespace: should be credential, shared or header:NAME
  secret_file: /no/such/file              # store.secret_file: cannot be read: No such file or directory
upstreams:
  a:
    base_url: api.example.com/v1          # upstreams.a.base_url: should be a URL that begins with http:// or https://
    headers: {"x y": z}                   # upstreams.a.headers.x y: is no header name
    context_window: 0                     # upstreams.a.context_window: should be at least 1
    drop_headers: x-internal              # upstreams.a.drop_headers: should be a list, such as [a, b]
  b:                                      # upstreams.b.base_url: is required: Where the API begins
    connect_timeout: 0                    # upstreams.b.connect_timeout: should be above 0
  c: https://api.example.com/v1           # upstreams.c: should be a mapping of settings
models:
  m-*: {context_windw: 8192}              # models.m-*.context_windw: is unknown; did you mean context_window?
compaction:
  threshold_percent: 1.5                  # compaction.threshold_percent: should be at most 1
  threshold_tokens: -5                    # compaction.threshold_tokens: should be at least 1
  target_ratio: half                      # compaction.target_ratio: should be a number
  summary_target_ratio: 0.05              # compaction.summary_target_ratio: should be at least 0.1
  minimum_gain: 1                         # compaction.minimum_gain: should be below 1
  mode: compress                          # compaction.mode: should be one of off, observe, recover, compact
  engine: ""                              # compaction.engine: is empty
  pin: ["("]                              # compaction.pin[0]: is no regular expression
  canonicalize: [{replacement: x}]        # compaction.canonicalize[0].pattern: is required
  summarizer:
    kind: gpt                             # compaction.summarizer.kind: should be one of llm, extractive
    upstream: nowhere                     # compaction.summarizer.upstream: names no upstream; there is a, b, c
recovery:
  max_attempts: 9                         # recovery.max_attempts: should be at most 4
  tiers: [0]                              # recovery.tiers: should be a list of token numbers above 0
  patterns: [{regex: x, label: oops}]     # recovery.patterns[0].label: should be one of context_overflow
routes:
  - name: one
    upstream: elsewhere                   # routes[0].upstream: names no upstream; there is a, b, c
"""


def mistakes_of(folder: Path, text: str, **environ: str) -> list[str]:
    """
    Return the mistakes of a file, without its folder; none for a right one.
    """
    file = folder / "c.yaml"
    file.write_text(text, "utf-8")
    try:
        load_settings(file, environ=environ)
    except SettingsError as exc:
        return [mistake.replace(str(file), "c.yaml") for mistake in exc.mistakes]
    return []


def expected_mistakes() -> list[tuple[int, str]]:
    """
    Return line and text of the comments above.
    """
    lines = enumerate(MISTAKEN.splitlines(), start=1)
    return [(number, line.partition("  # ")[2]) for number, line in lines if "  # " in line]


@pytest.mark.parametrize(("line", "mistake"), expected_mistakes())
def test_explains_the_mistake_at_its_line(tmp_path: Path, line: int, mistake: str) -> None:
    """
    Each commented line is reported as FILE:LINE: setting: cause.
    """
    found = mistakes_of(tmp_path, MISTAKEN)

    assert [text for text in found if text.startswith(f"c.yaml:{line}: {mistake}")], "\n".join(found)


def test_reports_nothing_beside_the_mistakes_that_are_there(tmp_path: Path) -> None:
    """
    One line a mistake: no echoes of the same one from later checks, and at least thirty kinds.
    """
    found = mistakes_of(tmp_path, MISTAKEN)
    commented = {f"c.yaml:{line}" for line, _ in expected_mistakes()}

    assert {":".join(text.split(":")[:2]) for text in found} == commented
    assert len(found) == len(commented) >= 30


def test_reports_mistakes_in_the_order_of_the_file(tmp_path: Path) -> None:
    """
    The list is worked through from top to bottom.
    """
    lines = [int(text.split(":")[1]) for text in mistakes_of(tmp_path, MISTAKEN)]

    assert lines == sorted(lines)


def test_never_repeats_a_value(tmp_path: Path) -> None:
    """
    Any value may be a secret that stands in the wrong place.
    """
    canary = "sk-canary-4711"
    text = "\n".join(
        f"{key}: {canary}" for key in ("listen", "workers", "disclose", "client_keys", "log", "store", "routes", "otlp")
    )
    found = mistakes_of(
        tmp_path,
        text + f"\nupstreams:\n  a: {{base_url: {canary}, max_body: {canary}, connect_timeout: {canary}, "
        f"headers: {{x-a: '{canary}\\n'}}, api_keys: {canary}, ca_file: [{canary}]}}",
    )

    assert len(found) > 10
    assert not [text for text in found if canary in text]


CROSS = """\
client_keys: []
listen: 0.0.0.0:8080
admin: {listen: "0.0.0.0:8081"}
store: {namespace: "header:x-tenant"}
upstreams:
  open: {base_url: "https://a.example"}
  paid: {base_url: "https://b.example", api_keys: [k1]}
  local: {base_url: "http://127.0.0.1:1"}
routes:
  - name: one
    upstream: opne
  - name: two
    upstream: open
    compaction: {summarizer: {upstream: local}}
  - name: two
    upstream: open
    compaction:
      summarizer:
        model: small
        in_place: true
"""


@pytest.mark.parametrize(
    "mistake",
    [
        "c.yaml:2: listen: is open to other machines while upstream paid holds api_keys",
        "c.yaml:3: admin.listen: is open to other machines: set admin.token",
        "c.yaml:4: store.namespace: is a header that anybody can send: it needs client_keys",
        "c.yaml:11: routes[0].upstream: names no upstream; did you mean open?",
        "c.yaml:14: routes[1].compaction.summarizer.upstream: is another upstream than the request's own, so local needs",
        "c.yaml:15: routes[2].name: is the name of an earlier route",
        "c.yaml:20: routes[2].compaction.summarizer.in_place: works with the request's own model only",
    ],
)
def test_finds_mistakes_that_two_settings_make_together(tmp_path: Path, mistake: str) -> None:
    """
    Each value is right by itself.
    """
    found = mistakes_of(tmp_path, CROSS)

    assert len(found) == 7
    assert any(text.startswith(mistake) for text in found), "\n".join(found)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("a: [1", "c.yaml:1: is no YAML: expected ',' or ']'"),
        ("a: 1\n\tb: 2", "c.yaml:2: is no YAML: found character '\\t'"),
        ("admin: {token: ${T}}", 'stands in quotes: "${NAME}"'),
        ("- a\n- b", "c.yaml:1: should be a mapping of settings"),
        ("a: 1\n---\nb: 2", "c.yaml:2: is no YAML: but found another document"),
        ("log: {level: info}\nx: \x07", "c.yaml:2: holds a character that YAML does not allow"),
        ("log: *nowhere", "c.yaml:1: is no YAML: found undefined alias"),
        ("log: &l {level: *l}", "c.yaml:1: log.level: is nested too deeply"),
        ("log: {<<: [1]}\n", "c.yaml:1: log.<<: should name one mapping by its anchor"),
        ("log: {level: info, level: debug}", "c.yaml:1: log.level: is written twice, first on line 1"),
        ("admin:", "c.yaml:1: admin: is empty"),
        ("routes: {a: b}", "c.yaml:1: routes: should be a list"),
        ("routes: [a]", "c.yaml:1: routes[0]: should be a mapping of settings"),
        ("upstreams: {}", "c.yaml:1: upstreams: there is no upstream: give --upstream URL"),
        ("listen: 127.0.0.1:1", "c.yaml: upstreams: there is no upstream: give --upstream URL"),
        ("", "c.yaml: upstreams: there is no upstream: give --upstream URL"),
        ("log: 5", "c.yaml:1: log: should be a mapping of settings"),
        ("compaction: 5", "c.yaml:1: compaction: should be a mapping of settings"),
    ],
)
def test_explains_a_file_that_is_no_configuration(tmp_path: Path, text: str, mistake: str) -> None:
    """
    Broken YAML, and YAML that is something else.
    """
    found = mistakes_of(tmp_path, text)

    assert any(mistake in line for line in found), "\n".join(found)


def test_says_when_the_file_cannot_be_read(tmp_path: Path) -> None:
    """
    The cause is the system's.
    """
    with pytest.raises(SettingsError, match=r"no\.yaml: cannot be read: No such file or directory"):
        load_settings(tmp_path / "no.yaml", environ={})


def test_says_when_the_file_is_no_text(tmp_path: Path) -> None:
    """
    A binary file in the wrong place is no traceback.
    """
    (tmp_path / "c.yaml").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(SettingsError, match="is not UTF-8 text"):
        load_settings(tmp_path / "c.yaml", environ={})


@pytest.mark.parametrize(
    ("environ", "overrides", "mistake"),
    [
        ({"CONCERTINA_WORKERS": "lots"}, {}, "CONCERTINA_WORKERS: workers: should be a whole number"),
        ({"CONCERTINA_UPSTREAM": "nope"}, {}, "CONCERTINA_UPSTREAM: upstreams.default.base_url: should be a URL"),
        ({}, {"listen": "8080"}, "--listen: listen: is no address"),
        ({}, {"upstream": "nope"}, "--upstream: upstreams.default.base_url: should be a URL"),
        ({}, {"log.level": "loud"}, "--log-level: log.level: should be one of"),
    ],
)
def test_names_the_variable_or_option_that_is_wrong(
    environ: dict[str, str], overrides: dict[str, str], mistake: str
) -> None:
    """
    There is no line to point to.
    """
    with pytest.raises(SettingsError) as caught:
        load_settings(None, environ=environ, overrides=overrides)

    assert any(line.startswith(mistake) for line in caught.value.mistakes)


def test_a_mistake_in_the_defaults_is_told_once_whatever_the_number_of_routes(tmp_path: Path) -> None:
    """
    Every route takes the defaults over, and would repeat their mistakes.
    """
    text = "compaction: {threshold_percent: 7}\nupstreams: {a: {base_url: 'http://a'}}\nroutes:\n"
    text += "".join(f"  - {{name: r{n}, upstream: a}}\n" for n in range(3))

    assert mistakes_of(tmp_path, text) == ["c.yaml:1: compaction.threshold_percent: should be at most 1"]


def test_a_file_of_authorities_is_opened(tmp_path: Path) -> None:
    """
    Else the first request would fail, long after the start; over plain HTTP nobody reads it.
    """
    (tmp_path / "no.pem").write_text("nonsense")
    text = (
        f"upstreams:\n  a: {{base_url: 'https://a', ca_file: {tmp_path}/gone.pem}}\n"
        f"  b: {{base_url: 'https://b', ca_file: {tmp_path}/no.pem}}\n"
        f"  c: {{base_url: 'http://c', ca_file: {tmp_path}/gone.pem}}\n"
    )

    assert mistakes_of(tmp_path, text) == [
        "c.yaml:2: upstreams.a.ca_file: cannot be read: No such file or directory",
        "c.yaml:3: upstreams.b.ca_file: holds no certificates in PEM format",
    ]

import time

import pytest

from proxy.privacy.redact import redact

# Every value below is made up.
SECRETS = [
    ("OPENAI_API_KEY=sk-proj-Zz1Yy2Xx3Ww4Vv5Uu6Tt7", "Zz1Yy2Xx3"),
    ("curl -H 'Authorization: Bearer 0a1b2c3d4e5f6a7b8c9d'", "0a1b2c3d"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpw"),
    ("x-api-key: 99aabbccddeeff00", "99aabbcc"),
    ("postgres://app:v3ryS3cret@db.internal:5432/main", "v3ryS3cret"),
    ("token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmF0dXJl end", "eyJzdWIi"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIBOgIBAAJB\n-----END RSA PRIVATE KEY-----", "MIIBOgIB"),
    ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "0123456789abc"),
    ("aws AKIAABCDEFGHIJKLMNOP", "ABCDEFGHIJKLMNOP"),
    ("xoxb-123456789012-abcdefABCDEF", "123456789012"),
    ("hf_abcdefghijABCDEFGHIJ0123456789", "abcdefghijABC"),
    ('{"password": "correct horse battery"}', "correct horse"),
    ('{\\"api_key\\": \\"qwertz123456\\"}', "qwertz123456"),
    ("db_password: 'hunter two'", "hunter two"),
    ("client_secret = abcDEF123!x", "abcDEF123"),
    ("DB_PASSWORD=correcthorse", "correcthorse"),
]
HARMLESS = [
    "max_tokens: 4096",
    "prompt_tokens=1200, completion_tokens=3",
    "def login(user: str, password: str, token: Optional[str] = None) -> None:",
    "api_key=api_key",
    'token = os.environ["SERVICE_TOKEN"]',
    "password: string",
    "the token is used below",
    "https://example.com/path?page=2",
    "keyboard: qwerty layout",
    "Authorization: Bearer $TOKEN",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_masks_a_secret(text, secret):
    """The value goes, whatever its form."""
    masked = redact(text)

    assert secret not in masked
    assert "[redacted" in masked


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_masking_twice_changes_nothing(text, secret):
    """Summaries of summaries keep their bytes."""
    once = redact(text)

    assert redact(once) == once


@pytest.mark.parametrize("text", HARMLESS)
def test_leaves_code_and_counts_alone(text):
    """Names of variables, types, counts and references to secrets are no secrets."""
    assert redact(text) == text


def test_keeps_the_label_of_an_assignment():
    """A reader still sees which setting was there."""
    assert redact("SMTP_PASSWORD=pa55word99 PORT=25") == "SMTP_PASSWORD=[redacted] PORT=25"


def test_keeps_the_rest_of_a_dsn():
    """Host and database of a connection string stay, the password goes."""
    assert redact("redis://svc:s3cr3tz@cache:6379/0") == "redis://svc:[redacted]@cache:6379/0"


@pytest.mark.parametrize(
    "piece",
    [
        "key-",
        "password ",
        "a://b:",
        "token:",
        "-----BEGIN RSA PRIVATE KEY-----",
        "authorization: ",
        'x"password": "',
        "eyJa.",
        "\\",
    ],
)
def test_is_linear_in_hostile_text(piece):
    """A text made to slow the rules down costs no more than four times as much when it is four times as long."""
    small = _seconds(piece * (100_000 // len(piece)))
    large = _seconds(piece * (400_000 // len(piece)))

    assert large < max(12 * small, 1.0)


def _seconds(text: str) -> float:
    start = time.process_time()
    redact(text)
    return time.process_time() - start

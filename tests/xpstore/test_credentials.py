import time

import pytest

from xpstore.credentials import credential_under_key, find_credentials, is_documentation, names_credential

B64 = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYabcdef1234"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc123\nabcabcabcabcabcabc\n-----END RSA PRIVATE KEY-----"


def found(text):
    return [(item.kind, text[item.start : item.end]) for item in find_credentials(text)]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("id AKIAIOSFODNN7ABCDEFG,", "aws-key", "AKIAIOSFODNN7ABCDEFG"),
        (
            "github_pat_11ABCDEFG0123456789_abcdefghij",
            "github-token",
            "github_pat_11ABCDEFG0123456789_abcdefghij",
        ),
        ("glpat-abcdefghij1234567890", "gitlab-token", "glpat-abcdefghij1234567890"),
        ("sk-proj-abc123DEF456ghi789jkl0", "openai-key", "sk-proj-abc123DEF456ghi789jkl0"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.ab", "jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.ab"),
        ("Authorization: Bearer abc.def.123456789012", "authorization", "abc.def.123456789012"),
        ("Authorization: Basic dXNlcjpwYXNz", "authorization", "dXNlcjpwYXNz"),
        ("Set-Cookie: sid=abc; Path=/", "cookie", "sid=abc; Path=/"),
        ("postgres://bob:hun:ter@2@db.host:5432/x", "url-password", "hun:ter@2"),
        ("https://0123456789abcdefabcdef@host/1", "url-password", "0123456789abcdefabcdef"),
        ("password=hunter2", "password", "hunter2"),
        ("DB_PASSWORD=swordfish", "password", "swordfish"),
        ('password = "correct horse"', "password", "correct horse"),
        ("PASSWORD: Tr0ub4dor&3!", "password", "Tr0ub4dor&3"),
        ("my password is hunter2.", "password", "hunter2"),
        ("Server=h;Uid=u;Pwd=s3cret;Database=d", "password", "s3cret"),
        ("密码是abc123，请记住", "password", "abc123"),
        (f"aws_secret_access_key = {B64}", "token", B64),
        ("?access_token=abc12345&x=1", "token", "abc12345"),
        ("'api_key': 'abc12345'", "token", "abc12345"),
        (f"x {PEM} y", "private-key", PEM),
    ],
)
def test_credentials_are_found(text, kind, value):
    assert (kind, value) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "password",
        "the password was wrong; reset password: click here",
        "Please enter your password: it must be long",
        '"password": "at least eight characters"',
        "AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "ghp_" + "x" * 36,
        "ea1402bc4f27311c55d06e318cef7d22ed1f33431a33ada16db71c4177283103",
        "password=$PASSWORD password=<secret> password=**** PASSWORD=DB_PASSWORD",
        "password = os.environ['X']; api_key=api_key; token = get_token()",
        "def f(password=None, token: str = '')",
        "sk-learn-something-without-digits",
        "next_page_token=abc12345678, max_tokens=4096",
        "https://user:password@host",
        "http://localhost:8080/@user",
        "secret: meeting; the access key is required.",
        "Cookie: enabled",
        "-----BEGIN PRIVATE KEY----- is how such a file begins",
    ],
)
def test_words_ids_and_placeholders_are_not(text):
    assert found(text) == []


def test_a_key_makes_its_value_a_credential():
    assert credential_under_key("password", "swordfish") == "password"
    assert credential_under_key("DB_PASSWORD", "hunter2") == "password"
    assert credential_under_key("clientSecret", "abc12345") == "token"
    assert credential_under_key("Authorization", "Basic dXNlcjpwYXNz") == "authorization"
    assert credential_under_key("password_hint", "hunter2") == ""
    assert credential_under_key("next_token", "abc12345") == ""
    assert names_credential("api-key")
    assert not names_credential("user_id")


def test_documentation_keys():
    assert is_documentation("AKIAIOSFODNN7EXAMPLE")
    assert not is_documentation("AKIAIOSFODNN7ABCDEFG")


@pytest.mark.parametrize(
    "piece", ["password ", "a@", "-----BEGIN PRIVATE KEY-----", "eyJ", "://a:", "Bearer a", "1-"]
)
def test_long_hostile_text_takes_linear_time(piece):
    start = time.process_time()
    found(piece * (200_000 // len(piece)))
    assert time.process_time() - start < 5

"""What may be secret in a configured value is not shown; the rest is."""

import pytest

from chart_binder.errors import masked

SECRETS = [
    ("http://u:hunter2@h:80/x", "http://***@h:80/x"),
    ("http://u:p@hunter2@h", "http://***@h"),
    ("http://u:p/hunter2@h", "http://***@h"),
    ("http://u:p?hunter2@h", "http://***@h"),
    ("http://u:pass hunter2@h", "http://***@h"),
    ("http://u:a://hunter2@h", "http://***@h"),
    ("http://u:line\nhunter2@h", "http://***@h"),
    ("http://hunter2@h", "http://***@h"),
    ("http:///u:hunter2@h", "http://***@h"),
    ("u:hunter2@h", "***@h"),
    ("//u:hunter2@h", "***@h"),
    ("http://h/?api_key=hunter2", "http://h/?api_key=***"),
    ("http://h?a=hunter2&b=hunter 2#c=hunter2", "http://h?a=***&b=***#c=***"),
    ("http://u:hunter2@h?key=hunter2", "http://***@h?key=***"),
    ("['http://u:hunter2@h']", "['http://***@h']"),
]
PLAIN = [
    "",
    "http://127.0.0.1:8888/search",
    "sqlite:////home/me@work/canon.db?timeout=5",
    "me@example.org",
    "mailto:me@example.org",
    "qwen3:4b",
]


@pytest.mark.parametrize(("text", "shown"), SECRETS)
def test_a_secret_is_hidden(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert "hunter" not in masked(text)


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert masked(text) == text

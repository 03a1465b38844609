"""Configuration in layers: what is allowed, what is refused, and how the refusal reads."""

from pathlib import Path
from typing import Any

import pytest
import tomli
from pydantic import BaseModel

from chart_binder.config import Config
from chart_binder.config.load import load_settings
from chart_binder.errors import ConfigError

SHIPPED = Path(__file__).parents[2] / "config.toml"


def load(tmp_path: Path, text: str = "", **environment: str) -> Config:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return load_settings(file, environment, {}).config


def defaults(model: type[BaseModel]) -> dict[str, Any]:
    return {
        name: defaults(type(field.default))
        if isinstance(field.default, BaseModel)
        else list(field.default)
        if isinstance(field.default, tuple)
        else field.default
        for name, field in model.model_fields.items()
    }


def test_the_shipped_file_holds_every_key_with_its_default() -> None:
    assert tomli.loads(SHIPPED.read_text()) == defaults(Config)


def test_every_key_of_the_shipped_file_has_its_description_above_it() -> None:
    lines = SHIPPED.read_text().splitlines()
    for number, line in enumerate(lines):
        if "=" in line and not line.startswith("#"):
            assert lines[number - 1].startswith("# "), line


def test_the_shipped_file_is_valid() -> None:
    assert load_settings(SHIPPED, {}, {}).config == Config()


REFUSED = [
    ("[llm]\nmodell = 'x'", {}, ["llm.modell", "unknown key", "did you mean 'model_id'"]),
    ("[llm]\nnum_ctx = 'big'", {}, ["llm.num_ctx", "'big'", "whole number"]),
    ("[llm]\nnum_ctx = 12", {}, ["llm.num_ctx", "12", "1024"]),
    ("[llm]\nenabled = 1", {}, ["llm.enabled", "true or false"]),
    ("[llm]\ntemperature = nan", {}, ["llm.temperature", "nan", "finite"]),
    ("[llm]\nreview_threshold = 0.9", {}, ["review_threshold 0.9", "at most", "0.85"]),
    ("[llm]\nnum_ctx = 1024", {}, ["max_tokens 1024", "less than num_ctx"]),
    ("[llm.fetch]\nports = [80, 99999]", {}, ["llm.fetch.ports.1", "99999", "65535"]),
    ("[llm.fetch]\nports = []", {}, ["llm.fetch.ports", "at least 1"]),
    ("llm = 3", {}, ["llm", "found 3", "table"]),
    ("[log]\nlevel = 'loud'", {}, ["log.level", "'loud'", "'debug'", "'error'"]),
    ("[musicbrainz]\nhostname = 'http://x/'", {}, ["musicbrainz.hostname", "http://x/"]),
    ("[musicbrainz]\nhostname = '127.0.0.1:99999'", {}, ["musicbrainz.hostname", "99999", "65535"]),
    ("[musicbrainz]\nhostname = 'a:0'", {}, ["musicbrainz.hostname", "'a:0'", "from 1"]),
    ("[musicbrainz]\nhostname = '['", {}, ["musicbrainz.hostname", "'['", "IPv4"]),
    ("[musicbrainz]\nhostname = '[::1]:80'", {}, ["musicbrainz.hostname", "IPv4"]),
    ("[musicbrainz]\nhostname = '127.0.0.1:٣'", {}, ["musicbrainz.hostname", "٣"]),
    ('[musicbrainz]\nhostname = "a\\u0000b"', {}, ["musicbrainz.hostname", "IPv4"]),
    ("", {"CANON_MUSICBRAINZ__HOSTNAME": "a:99999"}, ["CANON_MUSICBRAINZ__HOSTNAME", "65535"]),
    ("[store]\nurl = 'mysql://x'", {}, ["store.url", "mysql://x", "sqlite"]),
    ("[foo]\nbar = 1", {}, ["foo", "unknown key", "musicbrainz"]),
    ("a = [", {}, ["no TOML"]),
    ("", {"CANON_LLM__NUM_CTX": "big"}, ["CANON_LLM__NUM_CTX", "llm.num_ctx", "'big'"]),
    ("", {"CANON_LLM_MODEL_ID": "x"}, ["CANON_LLM_MODEL_ID", "two underscores"]),
    ("", {"CANON_OFFLINE": "1"}, ["CANON_OFFLINE", "no such variable", "two underscores"]),
    ("[llm]\nbase_url = 'ftp://u:secret@h/'", {}, ["llm.base_url", "ftp://***@h/", "address"]),
    ("", {"CANON_LLM__MODELL": "x"}, ["CANON_LLM__MODELL", "unknown key", "model_id"]),
    ("", {"CANON_LLM__ENABLED": "maybe"}, ["CANON_LLM__ENABLED", "maybe", "true or false"]),
    ('[llm.fetch]\nuser_agent = "a\\nb"', {}, ["llm.fetch.user_agent"]),
    ("[llm.fetch]\nrobots = 'maybe'", {}, ["llm.fetch.robots", "ignore", "obey"]),
    ("[llm.fetch]\nhost_pause_s = -1", {}, ["llm.fetch.host_pause_s"]),
]


@pytest.mark.parametrize(("text", "environment", "words"), REFUSED)
def test_what_cannot_be_meant_is_refused_by_name(
    tmp_path: Path, text: str, environment: dict[str, str], words: list[str]
) -> None:
    with pytest.raises(ConfigError) as refusal:
        load(tmp_path, text, **environment)
    told = str(refusal.value)
    assert [word for word in words if word not in told] == []
    if text:
        assert str(tmp_path / "config.toml") in told


def test_every_wrong_key_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"llm\.seed.*log\.format"):
        load(tmp_path, "[llm]\nseed = -1\n[log]\nformat = 'xml'")


def test_the_environment_overrides_the_file_and_a_flag_overrides_both(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[llm]\nmodel_id = 'from-file'\nseed = 7\n[musicbrainz]\noffline = false\n")
    settings = load_settings(
        file,
        {"CANON_LLM__MODEL_ID": "from-env", "UNRELATED": "x"},
        {"musicbrainz.offline": True},
    )
    assert settings.config.llm.model_id == "from-env"
    assert settings.config.llm.seed == 7
    assert settings.config.musicbrainz.offline is True
    assert dict(settings.origins) == {
        "llm.model_id": "CANON_LLM__MODEL_ID",
        "llm.seed": str(file),
        "musicbrainz.offline": "command line",
    }


def test_a_list_in_the_environment_is_json_or_words_between_commas(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        CANON_RULES__REISSUE_TERMS="remaster, deluxe",
        CANON_LLM__FETCH__PORTS="[80, 8080]",
    )
    assert config.rules.reissue_terms == ("remaster", "deluxe")
    assert config.llm.fetch.ports == (80, 8080)


def test_a_value_of_the_environment_is_held_against_the_file_not_the_defaults(
    tmp_path: Path,
) -> None:
    config = load(
        tmp_path, "[llm]\nauto_accept_threshold = 0.95", CANON_LLM__REVIEW_THRESHOLD="0.9"
    )
    assert config.llm.review_threshold == 0.9


def test_a_named_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.toml: cannot be read"):
        load_settings(tmp_path / "absent.toml", {}, {})


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="no TOML"):
        load_settings(tmp_path / "config.toml", {}, {})


def test_a_table_that_stands_there_twice_is_told_in_words_of_toml(tmp_path: Path) -> None:
    text = SHIPPED.read_text() + "\n[llm.searxng]\nurl = 'http://127.0.0.1:8888'\n"
    with pytest.raises(ConfigError) as refusal:
        load(tmp_path, text)
    told = str(refusal.value)
    assert "the table [llm.searxng] stands there twice (at line" in told
    assert "put the keys of the second into the first" in told
    assert "('" not in told


def test_a_key_that_stands_there_twice_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a key stands there twice"):
        load(tmp_path, "[llm]\nseed = 1\nseed = 2\n")

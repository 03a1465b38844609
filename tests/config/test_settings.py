"""Configuration: its layers, what each error says, and the masking of secrets."""

from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
import tomli
from pydantic import BaseModel

from chart_binder.cli.config import with_values
from chart_binder.config import Config
from chart_binder.config.load import KEYS, load_settings
from chart_binder.errors import ConfigError, masked
from corpus import rows

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
    assert load_settings(SHIPPED, {}, {}).config == Config()


def test_every_key_of_the_shipped_file_has_its_description_above_it() -> None:
    lines = SHIPPED.read_text().splitlines()
    for number, line in enumerate(lines):
        if "=" in line and not line.startswith("#"):
            assert lines[number - 1].startswith("# "), line


SHUFFLED = "[llm.fetch]\nports = [80]\n[log]\n[llm]\nseed = 1\n[batch]\n[llm.searxng]\n"


@pytest.mark.parametrize("key", tuple(KEYS))
def test_every_key_can_be_set_in_any_file(key: str) -> None:
    shipped = SHIPPED.read_text()
    value = reduce(getitem, key.split("."), tomli.loads(shipped))
    assert with_values(shipped, {key: value}, SHIPPED) == shipped
    for text in ("", SHUFFLED):
        document = tomli.loads(with_values(text, {key: value}, SHIPPED))
        assert reduce(getitem, key.split("."), document) == value


def test_a_form_that_cannot_be_changed_safely_is_refused() -> None:
    with pytest.raises(ConfigError, match="canon config edit"):
        with_values("llm = { seed = 1 }\n", {"llm.fetch.max_chars": 300}, SHIPPED)


@pytest.mark.parametrize(("text", "environment", "words"), rows(__file__, "refused"))
def test_an_invalid_value_is_refused_with_its_key_and_what_is_allowed(
    tmp_path: Path, text: str, environment: dict[str, str], words: list[str]
) -> None:
    with pytest.raises(ConfigError) as refusal:
        load(tmp_path, text, **environment)
    told = str(refusal.value)
    assert [word for word in words if word not in told] == []
    if text:
        assert str(tmp_path / "config.toml") in told


def test_every_invalid_key_is_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"llm\.seed.*log\.format"):
        load(tmp_path, "[llm]\nseed = -1\n[log]\nformat = 'xml'")


def test_the_environment_overrides_the_file_and_a_flag_overrides_both(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[llm]\nmodel_id = 'from-file'\nseed = 7\n[musicbrainz]\noffline = false\n")
    settings = load_settings(
        file, {"CANON_LLM__MODEL_ID": "from-env", "UNRELATED": "x"}, {"musicbrainz.offline": True}
    )
    llm, musicbrainz = settings.config.llm, settings.config.musicbrainz
    assert (llm.model_id, llm.seed, musicbrainz.offline) == ("from-env", 7, True)
    assert dict(settings.origins) == {
        "llm.model_id": "CANON_LLM__MODEL_ID",
        "llm.seed": f"{file}, line 3",
        "musicbrainz.offline": "command line",
    }


def test_a_list_in_the_environment_is_json_or_has_commas(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        CANON_RULES__REISSUE_TERMS="remaster, deluxe",
        CANON_LLM__FETCH__PORTS="[80, 8080]",
    )
    assert config.rules.reissue_terms == ("remaster", "deluxe")
    assert config.llm.fetch.ports == (80, 8080)


def test_what_a_model_is_asked_comes_from_the_file_or_the_environment(tmp_path: Path) -> None:
    text = (
        "[llm]\nthink = false\nkeep_alive = 600\nreasoning_effort = 'none'\n"
        "[llm.extra_body]\ntop_k = 20\noptions = { min_p = 0.1 }\n"
    )
    llm = load(tmp_path, text).llm
    assert (llm.think, llm.keep_alive, llm.reasoning_effort) == (False, 600, "none")
    assert llm.extra_body == {"top_k": 20, "options": {"min_p": 0.1}}
    for word, think in (("true", True), ("false", False), ("high", "high"), ("", "")):
        assert load(tmp_path, text, CANON_LLM__THINK=word).llm.think == think
    for word, keep_alive in (("-1", -1), ("90", 90), ("1h30m", "1h30m"), ("-1s", "-1s"), ("", "")):
        assert load(tmp_path, text, CANON_LLM__KEEP_ALIVE=word).llm.keep_alive == keep_alive
    assert load(tmp_path, text, CANON_LLM__REASONING_EFFORT="low").llm.reasoning_effort == "low"
    added = load(tmp_path, text, CANON_LLM__EXTRA_BODY='{"options": {"top_p": 0.5}}').llm.extra_body
    assert added == {"top_k": 20, "options": {"min_p": 0.1, "top_p": 0.5}}


def test_limits_are_checked_on_the_merged_configuration(tmp_path: Path) -> None:
    config = load(tmp_path, "[llm]\nmax_tokens = 9000", CANON_LLM__NUM_CTX="16384")
    assert config.llm.max_tokens == 9_000


def test_a_file_that_is_absent_or_no_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.toml: cannot be read"):
        load_settings(tmp_path / "absent.toml", {}, {})
    (tmp_path / "config.toml").write_bytes(b"[llm]\nmodel_id = '\xff'")
    with pytest.raises(ConfigError, match=r"config\.toml, line 2: not TOML"):
        load_settings(tmp_path / "config.toml", {}, {})


@pytest.mark.parametrize(("text", "place"), rows(__file__, "places"))
def test_an_error_names_the_line_of_the_key(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        load(tmp_path, text)
    assert f"config.toml, {place}" in str(refusal.value)


SECRETS = rows(__file__, "secrets")
PLAIN = [
    "", "http://127.0.0.1:8888/search", "sqlite:////home/me@work/canon.db?timeout=5",
    "me@example.org", "mailto:me@example.org", "qwen3:4b",
]  # fmt: skip


@pytest.mark.parametrize(("text", "shown"), [*SECRETS, *zip(PLAIN, PLAIN, strict=True)])
def test_secrets_in_a_value_are_masked_and_nothing_else(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert "hunter" not in masked(text)

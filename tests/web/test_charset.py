"""A page is read in its character set, also where it does not say which that is."""

import time

import pytest

from chart_binder.web.transport import decode_text

TEXTS = {
    "ja": "椎名林檎のセカンドシングル。1998年5月27日に東芝EMIから発売された。人気が高い曲である。",
    "ko": "서태지와 아이들의 첫 번째 앨범은 1992년 3월 23일에 발매되었다. 이 음반은 성공했다.",
    "zh": "这张专辑于1974年11月8日由百代唱片公司在英国发行，是皇后乐队的第三张专辑，受到好评。",
    "tw": "這張專輯於1974年11月8日由百代唱片公司在英國發行，是皇后樂團的第三張專輯，受到好評。",
    "ru": "Альбом вышел 8 ноября 1974 года на фирме Мелодия и получил хорошие отзывы критиков.",
    "fr": "L'album est sorti le 8 novembre 1974 ; déjà célèbre, le groupe a été salué.",
    "de": "Das Album erschien am 8. November 1974 für Großbritannien; über die Hülle.",
}


@pytest.mark.parametrize(
    ("language", "codec"),
    [
        ("ja", "shift_jis"), ("ja", "euc_jp"), ("ko", "euc_kr"), ("zh", "gb2312"), ("zh", "gbk"),
        ("tw", "big5"), ("ru", "cp1251"), ("ru", "koi8-r"), ("fr", "cp1252"), ("de", "cp1252"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("times", [1, 40])
def test_a_page_without_a_character_set_is_guessed(language: str, codec: str, times: int) -> None:
    script = "<script>function f(a) { return document.getElementById(a).style.left }</script>"
    page = f"<html>{script}<title>x</title><body><p>{TEXTS[language]}</p>{script * 3}" * times
    assert decode_text(page.encode(codec), None) == page


@pytest.mark.parametrize("codec", ["shift_jis", "euc_jp", "gb2312", "big5", "cp1251"])
def test_what_a_page_or_its_server_says_goes_before(codec: str) -> None:
    text = "Björk; déjà"
    assert decode_text(text.encode("cp1252"), "windows-1252") == text
    japanese = TEXTS["ja"].encode("euc_jp")
    assert decode_text(japanese, codec) == japanese.decode(
        {"shift_jis": "cp932", "gb2312": "gb18030", "big5": "big5hkscs"}.get(codec, codec),
        "replace",
    )


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("x-sjis", "cp932"), ("Windows-31J", "cp932"), ("x-euc-jp", "euc_jp"), ("x-gbk", "gbk"),
        ("windows-949", "cp949"), ("windows-874", "cp874"), ("iso-8859-8-i", "iso8859-8"),
        ("x-mac-cyrillic", "mac-cyrillic"), ("unicode-1-1-utf-8", "utf-8"),
    ],
)  # fmt: skip
def test_names_that_only_browsers_know_are_known(label: str, codec: str) -> None:
    text = {
        "cp932": "椎名", "euc_jp": "椎名", "gbk": "专辑", "cp949": "앨범", "cp874": "ไทย",
        "iso8859-8": "שיר", "mac-cyrillic": "Песня", "utf-8": "Björk",
    }[codec]  # fmt: skip
    assert decode_text(text.encode(codec), label) == text


@pytest.mark.parametrize("junk", [b"\xff", b"\xa4\xa2", b"\x82\xa0", bytes(range(256)), b"<\xe9"])
def test_what_is_no_text_is_guessed_at_in_no_time(junk: bytes) -> None:
    began = time.process_time()
    assert decode_text(junk * (1_000_000 // len(junk)), None)
    assert time.process_time() - began < 1

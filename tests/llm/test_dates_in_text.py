"""Dates are found in prose, and not found where they do not stand."""

import re
import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.domain.dates import PartialDate
from chart_binder.llm.dates_in_text import contains_date, find_dates, single_date

SAME_DAY = [
    "1974-10-11", "1974/10/11", "1974.10.11", "1974. 10. 11.", "11.10.1974", "11. 10. 1974",
    "1974-10-11T00:00:00Z", "Fri, 11 Oct 1974 00:00:00 GMT", "released:1974-10-11",
    "11 October 1974", "October 11, 1974", "Oct. 11 1974", "October 11th, 1974",
    "the 11th of October, 1974", "October the 11th, 1974", "OCTOBER 11TH 1974", "1974 Oct 11",
    "11.X.1974", "11. X. 1974", "11/X/1974", "11-Oct-1974", "11/Oct/1974", "11OCT1974",
    "Fri 11 Oct 74", "Oct 11 '74", "Oct 11 ’74",
    "Friday, October 11, 1974 (UK)", "released 11 oct 1974.", "1974 October 11",
    "11. Oktober 1974", "11. Okt. 1974", "le 11 octobre 1974", "11 oct. 1974",
    "11 de octubre de 1974", "11 ottobre 1974", "11 de outubro de 1974", "11 out. 1974",
    "11 oktober 1974", "den 11. oktober 1974", "11 października 1974", "11 октября 1974 года",
    "11. října 1974", "dne 11. října 1974", "11. lokakuuta 1974", "στις 11 Οκτωβρίου 1974",
    "11 Οκτωβρίου του 1974", "11η Οκτωβρίου 1974", "11 Ekim 1974", "11 EKİM 1974'te",
    "1974. október 11.", "1974. október 11-én", "1974 október 11.",
    "11-го октября 1974", "1974年10月11日", "1974年 10月 11日", "１９７４年１０月１１日",
    "発売日1974年10月11日", "昭和49年10月11日", "昭和49年（1974年）10月11日",
    "1974年（昭和49年）10月11日", "一九七四年十月十一日", "民國63年10月11日", "1974년 10월 11일",
]  # fmt: skip


@pytest.mark.parametrize("text", SAME_DAY)
def test_a_day_is_found_however_it_is_written(text: str) -> None:
    assert contains_date(PartialDate.parse("1974-10-11"), f"It came out ({text}) in London.")
    assert contains_date(PartialDate.parse("1974"), text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1974-02-01", "1er février 1974"), ("1974-03-01", "1º de março de 1974"),
        ("1974-03-05", "5. März 1974"), ("1974-08-21", "21 août 1974"),
        ("1974-08-21", "21 ago 1974"), ("1974-09-03", "3 września 1974"),
        ("1974-05-09", "9 мая 1974"), ("1974-05-09", "9 mei 1974"), ("1974-05-09", "9 maj 1974"),
        ("1974-01-01", "1. ledna 1974"), ("1974-05-09", "9. května 1974"),
        ("1974-06-01", "1. června 1974"), ("1974-07-01", "1. července 1974"),
        ("1974-09-03", "3. září 1974"), ("1974-11-11", "11. listopadu 1974"),
        ("1974-07-01", "1. heinäkuuta 1974"), ("1974-08-01", "1. elokuuta 1974"),
        ("1974-05-09", "9 Μαΐου 1974"), ("1974-07-01", "1 ΙΟΥΛΊΟΥ 1974"),
        ("1974-01-01", "1 Ocak 1974"), ("1974-08-01", "1 Ağustos 1974"),
        ("1974-12-31", "31 Aralık 1974"), ("1974-12-31", "31 ARALIK 1974"),
        ("1974-03-05", "1974. március 5."), ("1974-11-08", "1974. november 8-án"),
        ("1989-01-08", "平成元年1月8日"), ("1974-12-31", "31 dicembre 1974"),
        ("1974-11-11", "11/11/1974"), ("1974-10-13", "13/10/1974"), ("1974-10-13", "10/13/74"),
    ],
)  # fmt: skip
def test_a_day_is_found_in_other_languages_and_where_it_can_be_read_in_one_way_only(
    value: str, text: str
) -> None:
    assert contains_date(PartialDate.parse(value), f"({text})")


@pytest.mark.parametrize(
    "text",
    [
        "October 1974", "1974", "12 October 1974", "111 October 1974", "11 October 19745",
        "10/11/1974", "11/10/74", "11.10.74", "11 October 24", "1974-10-111", "51974-10-11",
        "1974-10-11-5", "1.11.10.1974", "A11 October 1974", "昭和50年10月11日",
        "11–15 October 1974", "October 11-15, 1974", "October 11 and 12, 1974",
        "circa 11 October 1974", "before October 11, 1974", "not 1974-10-11",
        "Issue 11, October 1974", "11 | October 1974", "track 11\nOctober 1974",
        "\n11. October 1974 in music", "It came out in 1974. October 11 was a Friday.",
        "in 1974. October 11. 1975 came later", "in 1974 October 11, 1975 came later",
    ],
)  # fmt: skip
def test_another_day_or_what_only_looks_like_it_is_not_taken_for_it(text: str) -> None:
    assert not contains_date(PartialDate.parse("1974-10-11"), text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1974-10-01", "21 October 1974"), ("1974-10-01", "11 October 1974"),
        ("1974-01-01", "11.1.1974"), ("1974-10", "1974"), ("1974-01", "1974-011"),
        ("1974-01-11", "nr 11 i 1974"), ("1974-10-11", "Vol. 11 X 1974"),
        ("1974-10", "it came out 1974"), ("1974-08", "11 years ago 1974"),
        ("1974-12", "Decca 1974"), ("1974-03", "K-Mart 1974"), ("1974-03", "1974 Wal-Mart"),
        ("1970", "1970'lerde"), ("1970", "1970'li yıllar"), ("1970", "1970-es évek"),
        ("1970", "1970-luvulla"), ("1970", "τη δεκαετία του 1970"),
        ("1974", "19741"), ("1974", "catalogue number 51974"), ("1974", "EMC-1974"),
        ("1974", "$1974"), ("1974", "1,974"), ("1974", "1970–1974"), ("1974", "1970 - 1974"),
        ("1974", "1974-75"), ("1974", "1974-present"), ("1974", "circa 1974"),
        ("1970", "the 1970s"), ("1970", "the 1970's"), ("1970", "1970年代"), ("1970", "1970년대"),
    ],
)  # fmt: skip
def test_a_part_a_span_or_a_number_is_no_date(value: str, text: str) -> None:
    assert not contains_date(PartialDate.parse(value), text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1974-10", "October 1974"), ("1974-10", "in Oct. 1974"), ("1974-10", "1974年10月"),
        ("1974-10", "11 October 1974"), ("1974-10", "October 11–12, 1974"), ("1974-10", "10/1974"),
        ("1974-10", "Oct '74"), ("1974-10", "1974/10"), ("1974", "(1974)"), ("1974", "℗ 1974 EMI"),
        ("1974", "mid-1974"), ("1974", "10/11/1974"), ("1974", "昭和49年"), ("1974", "1974년"),
        ("1974-10", "11. October 1974 in music"), ("1974-10", "вышел в октябре 1974 года"),
        ("1974-10", "w październiku 1974"), ("1974-10", "v říjnu 1974"),
        ("1974-10", "lokakuussa 1974"), ("1974-10", "τον Οκτώβριο του 1974"),
        ("1974-10", "Ekim 1974'te"), ("1974-10", "1974'ün Ekim ayında"),
        ("1974-10", "1974 októberében"), ("1974-10", "1974. októberben"),
        ("1974", "1974-ben"), ("1974", "1974'te"), ("1974", "vuonna 1974"),
    ],
)  # fmt: skip
def test_a_month_or_a_year_is_found_too(value: str, text: str) -> None:
    assert contains_date(PartialDate.parse(value), text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("11 October 1974", "1974-10-11"), ("October 1974.", "1974-10"),
     ("8. November 1974", "1974-11-08"), ("(1974)", "1974"),
     ("1974-10-11T00:00:00Z", "1974-10-11")],
)  # fmt: skip
def test_a_text_that_is_nothing_but_a_date_is_that_date(text: str, value: str) -> None:
    assert single_date(text) == PartialDate.parse(value)


@pytest.mark.parametrize(
    "text", ["10/11/1974", "EMI 1974", "1974 and 1975", "31 February 1974", "", "a"]
)
def test_a_text_that_says_more_or_may_mean_two_days_is_no_date(text: str) -> None:
    assert single_date(text) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1975-10-31", "28 September - 31 October 1975"),
        ("1975-10-31", "28 September-31 October 1975"), ("1931-09-28", "28 September-31 May 1975"),
        ("1975-11-03", "October 28 – November 3, 1975"), ("1974-11", "Oct/Nov 1974"),
        ("1974-11", "October or November 1974"), ("1974-11", "October-November 1974"),
        ("1973", "between 1973 and 1974"), ("1974", "between 1973 and 1974"),
        ("1974", "zwischen 1973 und 1974"), ("1970", "from 1970 to 1974"),
        ("1974", "from 1970 to 1974"), ("1970", "1970 until late 1974"),
        ("1973", "mezi lety 1973 a 1974"), ("1974", "μεταξύ 1973 και 1974"),
        ("1973", "1973 ile 1974 arasında"), ("1974", "1973 ile 1974 arasında"),
        ("1973", "1973 és 1974 között"), ("1974", "vuosien 1973 ja 1974 välillä"),
        ("1974", "1974 or 1975"), ("1975", "1974 or 1975"), ("1975", "either 1974 or in 1975"),
    ],
)  # fmt: skip
def test_an_end_of_a_span_or_one_of_two_is_no_date(value: str, text: str) -> None:
    assert not contains_date(PartialDate.parse(value), f"It is of {text}.")


@pytest.mark.parametrize(
    "before",
    [
        "was not released on", "was never issued in the UK, and not on", "did not come out on",
        "wasn't released", "cancelled; planned for", "scheduled for Friday,", "cancelled",
        "circa late", "circa:", "before the end of", "no later than", "by", "~", "possibly",
        "probably on", "est.", "war nicht",
    ],
)  # fmt: skip
def test_what_did_not_happen_or_is_not_known_is_no_date(before: str) -> None:
    for text in (f"{before} 1974", f"{before} 11 October 1974", f"{before} October 11, 1974"):
        assert not contains_date(PartialDate.parse("1974"), f"The single {text}.")


@pytest.mark.parametrize("after", ["?", " ?", " (?)", " (cancelled)", " (not released)"])
def test_a_date_with_a_doubt_behind_it_is_no_date(after: str) -> None:
    assert not contains_date(PartialDate.parse("1974"), f"11 October 1974{after}, 1974{after}")


@pytest.mark.parametrize(
    "text",
    [
        "It was not a hit when it was released on 11 October 1974",
        "Was it ever a single? Yes: 11 October 1974", "11 October 1974, not the 12th",
        "issued 11 October 1974 to great acclaim", "EMI - 11 October 1974 - 3 tracks",
        "the single from 11 October 1974 or its remix",
    ],
)  # fmt: skip
def test_what_is_said_of_something_else_does_not_cast_a_doubt(text: str) -> None:
    assert contains_date(PartialDate.parse("1974-10-11"), text)


@pytest.mark.parametrize(
    "text",
    [
        # Who says it is not sure.
        "reportedly released on 11 October 1974",
        "was possibly issued in the UK on 11 October 1974",
        "may have been released on 11 October 1974", "believed to have come out on 11 October 1974",
        "date unknown, 11 October 1974", "would have been released on Friday, October 11, 1974",
        "erschien vermutlich am 11. Oktober 1974",
        "soll am Freitag, dem 11. Oktober 1974 erschienen",
        "wurde wahrscheinlich erst am 11. Oktober 1974 veröffentlicht", "etwa Mitte Oktober 1974",
        "probablement sorti le 11 octobre 1974", "serait sorti le vendredi 11 octobre 1974",
        "peut-être paru en octobre 1974", "posiblemente lanzado el 11 de octubre de 1974",
        "tal vez salió el 11 de octubre de 1974", "se cree que fue publicado en octubre de 1974",
        "forse uscito l'11 ottobre 1974", "sarebbe stato pubblicato nell'ottobre 1974",
        "provavelmente lançado em 11 de outubro de 1974", "por volta de 11 de outubro de 1974",
        "waarschijnlijk uitgebracht op 11 oktober 1974", "omstreeks 11 oktober 1974",
        "troligen utgiven den 11 oktober 1974", "muligvis udgivet i oktober 1974",
        "sannsynligvis utgitt den 11. oktober 1974", "kanskje i oktober 1974",
        "prawdopodobnie wydany 11 października 1974", "około 11 października 1974",
        "возможно, вышел 11 октября 1974", "предположительно выпущен в октябре 1974 года",
        "1974年10月頃", "1974年10月11日ごろ", "おそらく1974年10月11日", "大约1974年10月11日",
        "약 1974년 10월 11일",
        "1974년 10월 11일경", "1974年10月11日左右", "11 ottobre 1974 circa",
        "October 11, 1974 or so",
        "11 October 1974 (probably)", "11. Oktober 1974 (vermutlich)",
        "11 octobre 1974 (date incertaine)",
        "pravděpodobně vyšlo 11. října 1974", "kolem 11. října 1974", "možná v říjnu 1974",
        "mělo vyjít 11. října 1974", "todennäköisesti julkaistu 11. lokakuuta 1974",
        "noin 11. lokakuuta 1974", "πιθανώς κυκλοφόρησε στις 11 Οκτωβρίου 1974",
        "περίπου τον Οκτώβριο του 1974", "muhtemelen 11 Ekim 1974'te yayımlandı",
        "11 Ekim 1974 civarında", "valószínűleg 1974. október 11-én jelent meg",
        "1974. október 11. körül",
        # It did not come about, or was only going to.
        "geplant für den 11. Oktober 1974", "sollte am 11. Oktober 1974 erscheinen",
        "erschien nicht am 11. Oktober 1974", "prévu pour le 11 octobre 1974",
        "n'est pas sorti le 11 octobre 1974", "annulé le 11 octobre 1974",
        "no fue publicado el 11 de octubre de 1974", "previsto para el 11 de octubre de 1974",
        "non è uscito l'11 ottobre 1974", "rinviato all'11 ottobre 1974",
        "não foi lançado em 11 de outubro de 1974", "adiado para 11 de outubro de 1974",
        "niet uitgebracht op 11 oktober 1974", "gepland voor 11 oktober 1974",
        "släpptes inte den 11 oktober 1974", "planlagt til 11. oktober 1974",
        "nie ukazał się 11 października 1974", "planowany na 11 października 1974",
        "не вышел 11 октября 1974", "запланирован на 11 октября 1974",
        "выход отложен до 11 октября 1974",
        "1974年10月11日発売予定", "1974年10月11日に発売中止", "1974年10月11日には発売されなかった",
        "発売予定日:1974年10月11日", "原定1974年10月11日发行", "1974년 10월 11일 발매 예정",
        "nevyšlo 11. října 1974", "plánováno na 11. října 1974",
        "ei julkaistu 11. lokakuuta 1974", "suunniteltu julkaistavaksi 11. lokakuuta 1974",
        "δεν κυκλοφόρησε στις 11 Οκτωβρίου 1974", "προγραμματισμένο για τις 11 Οκτωβρίου 1974",
        "11 Ekim 1974 tarihinde yayımlanmadı", "planlanan çıkış tarihi: 11 Ekim 1974",
        "nem jelent meg 1974. október 11-én", "1974. október 11-én nem jelent meg",
        "tervezett megjelenés: 1974. október 11.",
        # Before, after, or somewhere between.
        "před 11. říjnem 1974", "ennen 11. lokakuuta 1974", "lokakuun 1974 jälkeen",
        "πριν από τις 11 Οκτωβρίου 1974", "11 Ekim 1974'ten önce", "11 Ekim 1974 tarihinden sonra",
        "1974. október 11-e előtt", "1974. október 11-ig",
        "vor dem 11. Oktober 1974", "avant le 11 octobre 1974", "antes del 11 de octubre de 1974",
        "prima dell'11 ottobre 1974", "antes de 11 de outubro de 1974", "voor 11 oktober 1974",
        "före den 11 oktober 1974", "przed 11 października 1974", "до 11 октября 1974",
        "1974年10月11日以前", "1974年10月11日〜1975年", "1974年10月11日から1975年まで",
        "1970年または1974年10月11日",
    ],
)  # fmt: skip
def test_a_doubt_is_known_in_every_language_whose_dates_are(text: str) -> None:
    told = f"Queen: {text}."
    assert not contains_date(PartialDate.parse("1974-10-11"), told)
    assert not contains_date(PartialDate.parse("1974-10"), told)
    assert not contains_date(PartialDate.parse("1974"), told)


@pytest.mark.parametrize(
    "text",
    [
        "Das Album erschien am 11. Oktober 1974 bei EMI und nicht bei Elektra",
        "wurde am Freitag, dem 11. Oktober 1974, veröffentlicht", "est sorti le 11 octobre 1974",
        "L'album, publié le 11 octobre 1974 par EMI", "fue lanzado el 11 de octubre de 1974",
        "No era un éxito cuando se publicó el 11 de octubre de 1974",
        "è stato pubblicato l'11 ottobre 1974", "uscì l'11 ottobre 1974",
        "foi lançado no dia 11 de outubro de 1974", "lançado na sexta-feira, 11 de outubro de 1974",
        "werd op 11 oktober 1974 uitgebracht", "släpptes den 11 oktober 1974 i Sverige",
        "udkom den 11. oktober 1974", "ble utgitt 11. oktober 1974",
        "ukazał się 11 października 1974 r.",
        "вышел 11 октября 1974 года", "был выпущен 11 октября 1974", "1974年10月11日に発売された",
        "1974年10月11日発売", "1974年10月11日から発売", "1974年10月11日发行",
        "1974년 10월 11일 발매",
        "album vyšlo 11. října 1974 u EMI", "julkaistiin 11. lokakuuta 1974",
        "κυκλοφόρησε στις 11 Οκτωβρίου 1974 από την EMI", "11 Ekim 1974'te yayımlandı",
        "11 Ekim 1974 tarihinde piyasaya sürüldü", "1974. október 11-én jelent meg",
        "Así, el 11 de octubre de 1974 salió", "Released 11 October 1974 once more",
        "by Mel, released on 11 October 1974",
        "Not their first. Released 11 October 1974", "released 11 October 1974 (by EMI)",
        "issued on 11 October 1974 a 12-inch single", "It would have sold more; 11 October 1974",
        "Perhaps their best single, released by EMI on 11 October 1974",
        "a previously unreleased album, issued on 11 October 1974",
        "pulled from the album, released on 11 October 1974",
        "die geplante Tour, am 11. Oktober 1974", "previsto il tour e, 11 ottobre 1974",
        "Although scheduled for 1 March, the single came out on 11 October 1974",
        "expected in 1973 but released on 11 October 1974", "not in 1973 but on 11 October 1974",
        "first released in the US, then, after a delay, in the UK on 11 October 1974",
    ],
)  # fmt: skip
def test_a_plain_statement_is_believed_in_every_language(text: str) -> None:
    assert contains_date(PartialDate.parse("1974-10-11"), f"Queen: {text}.")


@pytest.mark.parametrize(
    "text",
    [
        "recorded on 11 October 1974", "Recorded: October 11, 1974", "Recorded | 11 October 1974",
        "Retrieved 11 October 1974", "last updated 11 October 1974",
        "entered the chart on 11 October 1974",
        "(born 11 October 1974)", "aufgenommen am 11. Oktober 1974",
        "Abgerufen am 11. Oktober 1974",
        "enregistré le 11 octobre 1974", "consulté le 11 octobre 1974", "né le 11 octobre 1974",
        "grabado el 11 de octubre de 1974", "registrato l'11 ottobre 1974",
        "URL consultato l'11 ottobre 1974",
        "gravado em 11 de outubro de 1974", "opgenomen op 11 oktober 1974",
        "inspelad den 11 oktober 1974", "nagrany 11 października 1974", "записан 11 октября 1974",
        "nahráno 11. října 1974", "přístup 11. října 1974", "äänitetty 11. lokakuuta 1974",
        "viitattu 11. lokakuuta 1974", "ηχογραφήθηκε στις 11 Οκτωβρίου 1974",
        "11 Ekim 1974'te kaydedildi", "Erişim tarihi: 11 Ekim 1974",
        "1974. október 11-én rögzítették", "Hozzáférés: 1974. október 11.",
        "дата обращения: 11 октября 1974", "1974年10月11日録音", "1974年10月11日閲覧",
        "1974年10月11日に生まれ",
    ],
)  # fmt: skip
def test_the_date_of_something_else_is_the_date_of_no_release(text: str) -> None:
    day = PartialDate.parse("1974-10-11")
    assert contains_date(day, f"Queen: {text}.")
    assert not contains_date(day, f"Queen: {text}.", of_release=True)
    assert contains_date(day, f"{text}, and released on 11 October 1974.", of_release=True)


@pytest.mark.parametrize(
    "text",
    [
        "recorded in May and released on 11 October 1974", "Recorded | May 1974 | 11 October 1974",
        "Released | 11 October 1974", "Recorded May 1974\n11 October 1974 | UK | EMI",
        "The recording came out on 11 October 1974",
        "the single, recorded at Trident, 11 October 1974",
        "1974年10月11日発売、1974年5月録音", "Released 11 October 1974, recorded in May",
    ],
)  # fmt: skip
def test_a_release_that_is_told_beside_something_else_is_believed(text: str) -> None:
    assert contains_date(PartialDate.parse("1974-10-11"), f"Queen: {text}.", of_release=True)


DAYS = st.dates(date(1880, 1, 1), date(2030, 12, 31))
WRITTEN = [
    "{:%Y-%m-%d}", "{:%d %B %Y}", "{:%B %d, %Y}", "{:%b. %d %Y}", "{:%d.%m.%Y}", "{:%Y/%m/%d}",
    "{0.year}年{0.month}月{0.day}日", "{0.day} {0:%B} {0.year}", "{0:%B} {0.day}, {0.year}",
    "{0.day}.{0.month}.{0.year}", "{0:%d-%b-%Y}",
]  # fmt: skip
AROUND = st.text(alphabet=" ,.()|abcxyz\n:;年発", max_size=12)


@given(DAYS, st.sampled_from(WRITTEN), AROUND, AROUND)
def test_the_day_that_was_written_is_the_only_one_found(
    day: date, form: str, before: str, after: str
) -> None:
    text = f"{before} ({form.format(day)}) {after}"
    found = {known.text for dates, _ in find_dates(text) for known in dates}
    assert found <= {day.isoformat()}
    if "\n" not in before and not re.search(r"\b(?:c\.|ca\.?|by)[^a-z年発]*$", before):
        assert found == {day.isoformat()}


@given(DAYS, DAYS, st.sampled_from(WRITTEN))
def test_no_other_day_is_read_out_of_a_date(day: date, other: date, form: str) -> None:
    wanted = PartialDate.parse(other.isoformat())
    assert contains_date(wanted, f"x {form.format(day)} y") == (day == other)


@given(DAYS, st.sampled_from(WRITTEN), st.sampled_from("0123456789"))
def test_a_digit_more_on_either_side_spoils_a_date(day: date, form: str, digit: str) -> None:
    wanted, text = PartialDate.parse(day.isoformat()), form.format(day)
    if text[0].isdigit():
        assert not contains_date(wanted, f"5{text}")
    if text[-1].isdigit():
        assert not contains_date(wanted, f"{text}{digit}")


@given(st.text(alphabet="0123456789-/.,' :年月日昭和octberjanmayof\n", max_size=60))
def test_whatever_stands_there_is_read_without_complaint(text: str) -> None:
    for dates, _ in find_dates(text):
        assert dates


@pytest.mark.parametrize(
    "junk", ["1 ", "11 October ", "january ", "1974-", "10.10.", "昭和", "of the ", "1974年(", "'"]
)
def test_long_texts_take_no_long_time(junk: str) -> None:
    began = time.process_time()
    contains_date(PartialDate.parse("1974-10-11"), junk * (20_000 // len(junk)))
    assert time.process_time() - began < 2

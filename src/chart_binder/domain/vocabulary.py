"""Words and ids as MusicBrainz writes them, and the folding of texts for comparison."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, NewType, TypeAlias

EntityKind: TypeAlias = Literal["artist", "recording", "release", "release-group"]
"""The kinds of entity that an id of MusicBrainz can name."""

_ACCENTS = re.compile("[\u0300-\u036f]+")
_OTHER_DIGITS = re.compile(r"[^\D0-9]")

STATUSES = (
    "Official", "Promotion", "Bootleg", "Pseudo-Release", "Withdrawn", "Expunged", "Cancelled",
)  # fmt: skip
"""Release statuses (musicbrainz.org/doc/Release, "Status")."""
PRIMARY_TYPES = ("Album", "Single", "EP", "Broadcast", "Other")
SECONDARY_TYPES = (
    "Audiobook", "Audio drama", "Compilation", "Demo", "DJ-mix", "Field recording",
    "Interview", "Live", "Mixtape/Street", "Remix", "Soundtrack", "Spokenword",
)  # fmt: skip
"""Both: musicbrainz.org/doc/Release_Group/Type."""

_STATUS_BY_NAME = {name.casefold(): name for name in STATUSES} | {
    "promo": "Promotion", "pseudorelease": "Pseudo-Release", "canceled": "Cancelled",
}  # fmt: skip
_PRIMARY = {name.casefold(): name for name in PRIMARY_TYPES}
_SECONDARY = {name.casefold(): name for name in SECONDARY_TYPES}


@lru_cache(maxsize=512)
def status_name(text: str) -> str | None:
    """Return a release status by MusicBrainz's name, or None if it is unknown."""
    return _STATUS_BY_NAME.get(text.strip().casefold())


@lru_cache(maxsize=1_024)
def type_names(
    primary: str | None, secondary: tuple[str, ...]
) -> tuple[str | None, tuple[str, ...]]:
    """Return the primary type and the sorted secondary types by MusicBrainz's names.

    A secondary type as primary type, such as Soundtrack, means an Album; `Maxi-Single` is unknown.
    """
    kinds = {_SECONDARY.get(kind.strip().casefold(), kind) for kind in secondary if non_blank(kind)}
    first = (primary or "").strip().casefold()
    if first in _SECONDARY:
        return "Album", tuple(sorted({*kinds, _SECONDARY[first]}))
    return _PRIMARY.get(first), tuple(sorted(kinds))


def fold(text: str) -> str:
    """Return text without case, accents and letter widths: `Ｂeyoncé` is `beyonce`.

    Digits of any script become 0 to 9. Latin, Greek and Cyrillic letters lose their accents; kana
    keep their marks, which change the sound. A dotless `ı` becomes `i`, because its capital is the
    `I` of other languages. MusicBrainz's hyphen (`re‐recorded`) becomes `-`.
    """
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKC", text).casefold().replace("ı", "i").replace("‐", "-")
    plain = _OTHER_DIGITS.sub(lambda digit: str(unicodedata.decimal(digit[0])), plain)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", plain)))


_NO_WORDS = re.compile(r"[\W_]+")
_APOSTROPHES = re.compile("(?<=\\w)['’](?=\\w)")


@lru_cache(256)
def spaced_words(text: str) -> str:
    """Return the words of a text, folded and in one spelling, with one space around each."""
    plain = _APOSTROPHES.sub("", fold(text)).replace("&", " and ")
    return f" {_NO_WORDS.sub(' ', plain).strip()} ".replace(" pt ", " part ")


def letters_and_digits(text: str) -> str:
    """Return the letters and digits of a text, folded."""
    return "".join(filter(str.isalnum, fold(text)))


def find_words(
    words: Iterable[str], text: str, plain: tuple[str, list[int]] | None = None
) -> Iterator[tuple[int, int]]:
    """Yield the spans of whole words in a text; a short word with case counts only in capitals.

    `plain` is the `plain_text` of the text, if the caller has it.
    """
    normal, places = plain or plain_text(text)
    for word in words:
        for match in _whole_word(word).finditer(normal):
            start, end = places[match.start()], places[match.end() - 1] + 1
            is_short = len(word) <= 3 and word.isalpha() and word.upper() != word.lower()  # noqa: PLR2004
            if not is_short or text[start:end].isupper():
                yield start, end


@lru_cache(4_096)
def _whole_word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(plain_text(word)[0])}(?!\w)")


_DROPPED = frozenset("\\\"'“”„‟‘’‚‛«»‹›「」『』*_`")
_DASHES = frozenset("-‐‑‒–—―−")


def plain_text(text: str) -> tuple[str, list[int]]:
    """Return a text without case, accents and quotation marks, and the offset of each character.

    All dashes are `-`. Any space, `|` between cells and `:` after a label are one blank.
    """
    signs: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text):
        if letter in _DROPPED:
            continue
        is_label_end = letter == ":" and (text[place + 1 : place + 2] or " ").isspace()
        if letter.isspace() or letter == "|" or is_label_end:
            if signs and signs[-1] != " ":
                signs.append(" ")
                places.append(place)
            continue
        for sign in "-" if letter in _DASHES else fold(letter):
            signs.append(sign)
            places.append(place)
    return "".join(signs), places


def minutes(length_ms: int) -> str:
    """Return a length as minutes and seconds: `3:05`."""
    return "{}:{:02}".format(*divmod(round(length_ms / 1000), 60))


NO_COUNTRIES = frozenset({"XW", "XE"})
"""MusicBrainz's codes for worldwide and Europe, which are not countries of artists."""
_AREAS = {"XC": "Czechoslovakia", "XE": "Europe", "XG": "East Germany", "XW": "worldwide"}
"""MusicBrainz's own codes, which nobody else uses."""


def area_name(code: str | None) -> str | None:
    """Return the code of a country as it is, and the name of an area with a code of its own."""
    return _AREAS.get(code or "", code)


EUROPE = frozenset(
    {
        "AD", "AL", "AT", "AX", "BA", "BE", "BG", "BY", "CH", "CY", "CZ", "DE", "DK", "EE", "ES",
        "FI", "FO", "FR", "GB", "GG", "GI", "GR", "HR", "HU", "IE", "IM", "IS", "IT", "JE", "LI",
        "LT", "LU", "LV", "MC", "MD", "ME", "MK", "MT", "NL", "NO", "PL", "PT", "RO", "RS", "RU",
        "SE", "SI", "SJ", "SK", "SM", "UA", "VA", "XK", "CS", "SU", "XC", "XG", "YU",
    }
)  # fmt: skip
"""The countries of Europe (ISO 3166-1), with MusicBrainz's codes for former ones."""


@lru_cache(maxsize=512)
def country_code(text: str | None) -> str | None:
    """Return an ISO 3166-1 code as MusicBrainz writes it; `UK` is read as `GB`, `GB-LND` too."""
    code = (text or "").strip().upper().partition("-")[0]
    return "GB" if code == "UK" else code or None


@cache
def word_table(name: str) -> dict[str, Any]:
    """Return a table of words from the package's data: `date_words.toml` for `date_words`."""
    import tomli

    table = files("chart_binder.domain").joinpath(f"{name}.toml")
    return tomli.loads(table.read_text("utf-8"))


def isrc(text: str) -> str:
    """Return an ISRC in capitals, without hyphens and spaces."""
    return "".join(filter(str.isalnum, text)).upper()


def non_blank(text: str | None) -> str | None:
    """Return a text, or None if it is blank or absent."""
    return text if text and not text.isspace() else None


ArtistId = NewType("ArtistId", str)
RecordingId = NewType("RecordingId", str)
ReleaseGroupId = NewType("ReleaseGroupId", str)
ReleaseId = NewType("ReleaseId", str)

VARIOUS_ARTISTS = ArtistId("89ad4ac3-39f7-470e-963a-56509c546377")
"""MusicBrainz's special-purpose artist for records by many artists."""

MBID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
"""The form of a MusicBrainz identifier: a UUID."""


def bare_id(text: str) -> str:
    """Return an id without surrounding space; a UUID in lower case, as MusicBrainz writes it.

    Other ids keep their case, because a producer may use other ids.
    """
    bare = text.strip()
    return bare.lower() if MBID.fullmatch(bare) else bare


def spellings(name: str) -> Iterator[str]:
    """Yield a name as `spaced_words`; if it is Cyrillic or Greek, in Latin letters too."""
    lowered = unicodedata.normalize("NFC", name).casefold()
    transliterated = (fold(lowered.translate(table)).translate(table) for table in _LATIN)
    for spelling in dict.fromkeys((lowered, *transliterated)):
        if (words := spaced_words(spelling)).strip():
            yield words


_LETTERS = (
    "а б в г ґ д е ё є ж з и і ї й к л м н о п р с т у ф х ц ч ш щ ъ ы ь э ю я "
    "α β γ δ ε ζ η θ ι κ λ μ ν ξ ο π ρ σ ς τ υ φ χ ψ ω"
)
_ENGLISH = (
    "a b v g g d e yo ye zh z i i yi y k l m n o p r s t u f kh ts ch sh shch _ y _ e yu ya "
    "a v g d e z i th i k l m n x o p r s s t y f ch ps o"
)
_SCHOLARLY = (
    "a b v g g d e e je z z i i ji j k l m n o p r s t u f ch c c s sc _ y _ e ju ja "
    "a b g d e z e th i k l m n x o p r s s t u ph kh ps o"
)
_COLLOQUIAL = (
    "a b v g g d e e e zh z i i i i k l m n o p r s t u f h ts ch sh sch _ i _ e iu ia "
    "a v g d e z i th i k l m n ks o p r s s t i f h ps o"
)
_LATIN = [
    dict(zip(map(ord, _LETTERS.split()), (sign.strip("_") for sign in system.split()), strict=True))
    for system in (_ENGLISH, _SCHOLARLY, _COLLOQUIAL)
]
"""Latin letters for Cyrillic and Greek ones in three common systems, without accents."""

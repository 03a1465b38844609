"""Words beside a date that say of what it is: of a chart, a recording, a reissue, or of a release.

The table is small on purpose: it spares a second reading where the clause of a date says plainly
that it is of something else. What it does not have, the second reading decides.
"""

import re
from collections.abc import Iterable

from chart_binder.domain.dates_in_text import Mention

_ELSE = (
    # English
    r"re-?issu\w*|re-?releas\w*|re-?press\w*|remaster\w*|anniversary|(?:un|pre-?)releas\w*"
    r"|(?:not|never)(?: been)? releas\w*(?! until)"
    r"|live (?:version|performance|debut|recording|show)"
    r"|performed|(?:played|sung) live|(?:announc|postpon|delay|cancel|schedul|leak|certif)\w*"
    r"|(?:will|to) (?:be releas\w*|come out)|(?:set|ready) for release"
    r"|planned|slated|expected|due (?:for|on|in|out)|shelved|withdrawn|chart\w*|peaked|topped"
    r"|top (?:[0-9]{2,3}|ten|twenty|forty)|number (?:one|two|three)|(?:number|no\.?) ?[0-9]{1,2}"
    r"|gold (?:disc|record|status)|(?:went|multi-?|double) platinum|platinum (?:disc|status)"
    r"|airplay|(?:on|to) (?:the )?(?:\w+ )?radio|radio (?:premiere|debut|play|date|adds?)"
    r"|broadcast|aired|(?:re-?)?recorded|recording (?:dates?|sessions?)|taped|demo|promo\w*"
    r"|retrieved|accessed|born on|died|award\w*|prizes?|ceremony|peaks?|rec\.|t?-?shirts?|hoodies?"
    # German
    r"|wiederveröffentlich\w*|neuauflage\w*|neu aufgelegt|nachpressung\w*|platz [0-9]{1,2}"
    r"|hitparade|nummer (?:eins|[0-9]{1,2})|zertifi\w*|goldene schallplatte|im radio|geleakt"
    r"|ausgestrahlt|live gespielt|aufgenommen|aufnahmen?|aufgezeichnet|angekündigt\w*|geplant\w*"
    r"|verschoben|abgesagt|voraussichtlich|abgerufen|geboren am"
    # French
    r"|réédit\w*|ressorti\w*|remasteris\w*|(?:joué|chanté)\w* (?:en concert|en direct)"
    r"|classements?|numéro (?:un|[0-9]{1,2})|disque d['’]or|à la radio|diffusée?|fuité\w*"
    r"|enregistr\w*|annonc\w*|prévue?s?|repoussée?|reportée?|annulée?|consulté|née? (?:le|à)"
    # Spanish, Portuguese
    r"|reedi[tcç]\w*|relan[çz]\w*|remasteri[sz]\w*|(?:interpretad|tocad|cantad)\w (?:en|ao) vivo"
    r"|lista de éxitos|paradas?|número (?:uno|um|[0-9]{1,2})|disco de (?:oro|ouro)|filtrad\w"
    r"|vazou|vazad\w|(?:en|na|à) (?:la )?r[aá]dio|grab(?:ad\w|ó|ación|aciones)|grava[dç]\w*"
    r"|anunciad\w|previst\w|planead\w|aplazad\w|pospuest\w|adiad\w|cancelad\w"
    # Italian
    r"|ristamp\w*|riedi\w*|ripubblic\w*|rimasteri[sz]\w*|(?:eseguit|suonat)\w dal vivo"
    r"|classific\w+|numero (?:uno|[0-9]{1,2})|disco d['’]oro|in radio|registra(?:t\w|zion\w)"
    r"|premi[oa]s?|prémios?|prêmios?|prix|annunciat\w|programmat\w|rinviat\w|posticipat\w"
    # Dutch
    r"|heruit\w+|opnieuw uitgebracht|geremaster\w*|hitlijst\w*|nummer één|gelekt|gouden plaat"
    r"|op de radio|verwacht|zou|opgenomen|opnamen?|aangekondigd|gepland|uitgesteld|geannuleerd"
)
_ELSE_UNSPACED = (
    "[受授]賞|유출|차트|녹음|재발매|再版|泄露|排行榜"
    "|再発売?|再リリース|リイシュー|復刻|リマスター|ライブ(?:盤|録音|版)|公演|チャート|[0-9０-９]位|ラジオ|放送"
    "|流出|認定|録音|収録|レコーディング|(?:発売|リリース)?(?:予定|延期|中止)|閲覧"
)
_RELEASE = (
    r"releas\w*|issued|out|publish\w*|appear(?:ed|s)|apareci\w*|in (?:shops|stores)"
    r"|veröffentlich\w*|erschien\w*|erschein\w*|herausgekommen|herausgebracht|kam heraus|vö"
    r"|sort(?:i|ie|is|ies|it)|paru\w*|parution|publi\w*|éditée?|commercialis\w*"
    r"|lanza\w*|lanzó|sali[óo]|salida|editad\w|editó|a la venta"
    r"|lança\w*|lançou|saiu|usc(?:it\w|ì|ito)|pubblic\w*|edit[ao]"
    r"|uitgebracht|uitgegeven|uitgave|versch(?:een|enen|ijnt)|uitgekomen|kwam uit|uitkwam"
)
_RELEASE_UNSPACED = "発売|リリース|発行|発表"


def _pattern(words: str, unspaced: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{words})(?!\w)|{unspaced}", re.IGNORECASE)


_OF_ELSE = _pattern(_ELSE, _ELSE_UNSPACED)
_OF_RELEASE = _pattern(_RELEASE, _RELEASE_UNSPACED)

_LONGEST = 400
"""How many characters of a clause are looked at on either side of its date."""
_CUT = re.compile(
    r"[\n;；。！？!?.]"
    r"|,(?=\s(?:and|but|while|whereas|before|after|although|though|then|und|aber|während|bevor"
    r"|et|mais|puis|alors|y|pero|mientras|e|ma|mentre|poi|mas|enquanto|depois|en|maar|terwijl)\s)"
    r"|、(?=その後|のちに|しかし)"
)
_NO_END = re.compile(
    r"(?i)(?:^|[^\w])(?:\w|[0-9]{2}|mr|mrs|dr|st|jr|vs|ft|feat|no|nr|vol|inc|ltd|co|rec)$"
)
"""What stands before a full stop that ends no sentence: `11. Oktober`, `U.S.`, `No. 1`."""
_NEXT = re.compile(r"[\"'”’)\]]*\s+[\"'“‘(\[]*(\w)")
_QUOTED = re.compile(
    '“[^“”\n]{1,80}”|"[^"\n]{1,80}"|«[^«»\n]{1,80}»|„[^„“”\n]{1,80}[“”]|「[^「」]{1,80}」'
    "|『[^『』]{1,80}』|(?<!\\w)‘[^‘’\n]{1,80}’(?!\\w)"
)


_YEAR = re.compile("(?<![0-9])(?:1[89]|20)[0-9]{2}(?![0-9])")


def date_clause(text: str, mention: Mention) -> str:
    """Return the clause in which a date stands; of a table it is the whole row.

    A clause ends with its sentence, at a semicolon, at the end of the line, and at a comma before
    words such as "and", "but", "while".
    """
    start, end = _clause(text, mention)
    return text[start:end].strip()


def doubt_in_clause(text: str, mention: Mention, titles: Iterable[str] = ()) -> str | None:
    """Return the word in its clause that says that a date is of no release, or of a reissue.

    None where there is none, or where a word of release stands in the clause, too; `reissued` has
    none in it. A word does not count if another year stands between it and the date, nor if it is
    quoted or a part of one of the titles: "Radio Ga Ga".
    """
    start, end = _clause(text, mention)
    clause = _QUOTED.sub(_blank, text[start:end])
    for title in filter(str.strip, titles):
        clause = re.sub(rf"(?<!\w){re.escape(title)}(?!\w)", _blank, clause, flags=re.IGNORECASE)
    place = mention.start - start, mention.end - start
    doubts = [word[0] for word in _OF_ELSE.finditer(clause) if _is_beside(word, place)]
    rest = _OF_ELSE.sub(_blank, clause)
    if any(_is_beside(word, place) for word in _OF_RELEASE.finditer(rest)):
        return None
    return doubts[0] if doubts else None


def _clause(text: str, mention: Mention) -> tuple[int, int]:
    first, last = max(0, mention.start - _LONGEST), min(len(text), mention.end + _LONGEST)
    before = (cut.end() for cut in _CUT.finditer(text, first, mention.start) if _ends(cut))
    after = (cut.start() for cut in _CUT.finditer(text, mention.end, last) if _ends(cut))
    return max(before, default=first), next(after, last)


def _ends(cut: re.Match[str]) -> bool:
    """Whether a clause ends at what may end it; a full stop has to be that of a sentence."""
    if cut[0] != ".":
        return True
    behind = _NEXT.match(cut.string, cut.end())
    is_short = _NO_END.search(cut.string, max(0, cut.start() - 6), cut.start())
    return bool(behind and not behind[1].islower() and not is_short)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _is_beside(word: re.Match[str], date: tuple[int, int]) -> bool:
    """Whether no year stands between a word and a date."""
    between = (word.end(), date[0]) if word.end() <= date[0] else (date[1], word.start())
    return not _YEAR.search(word.string, *between)


def doubt_in_heading(heading: str) -> str | None:
    """Return a word of a heading that says that the dates below it are of no release, or None."""
    doubt = _OF_ELSE.search(heading)
    return doubt[0] if doubt and not says_release(heading) else None


def says_release(text: str) -> bool:
    """Return whether a text has a word of release."""
    return bool(_OF_RELEASE.search(_OF_ELSE.sub(" ", text)))

"""Words in titles and remarks, as regular expressions on folded text."""

import re
from functools import cache
from typing import NamedTuple


class Words(NamedTuple):
    """The words for one thing in several languages.

    `of` names a set (kinds, mixes, cuts, languages), of which a recording is at most one member. If
    `beside` is true, a word counts only alone or beside a word for a version: `Spanish`, `Spanish
    version`, `in Spanish`, but not `Spanish Harlem`.
    """

    whole: tuple[str, ...]
    """Words between spaces or signs."""
    parts: tuple[str, ...] = ()
    """Words of languages without spaces."""
    of: str = ""
    beside: bool = False


BEST_OF = Words(
    whole=(
        # English
        "greatest hits", "golden greats", "very best",
        "(?:definitive|golden|hits|platinum|singles|ultimate) collection",
        r"the (?:essential(?= \w)|singles(?=\W*(?:19|20)?\d\d))",
        "(?:all[- ]time|complete|single) best", "best (?:collection|hits|selection)",
        r"best[- ]of(?! (?:all|both|enemies|friends|intentions|luck|me|times|us|worlds|you)(?!\w))",
        # Spanish
        "(?:grandes|mayores|mejores|todos (?:los|mis|sus)) exitos", r"\d+ exitos",
        "(?:mis|sus) (?:mejores )?exitos",
        r"(?:mis|sus) (?:\d+ )?(?:mejores|grandes) canciones",
        r"lo mejor del?(?! (?:ambos|cada|dos|la vida|mi|nosotros|si|ti|todo|tu|una)(?!\w))",
        # Portuguese
        "(?:grandes|maiores) (?:exitos|sucessos)",
        r"(?:meus|seus|\d+) (?:grandes |maiores )?sucessos",
        r"o melhor d[aeo]s?(?! (?:cada|dois|mim|mundo|nos|tudo|vida|voce)(?!\w))",
        # French
        "(?:plus )?grands succes", "plus belles chansons", "meilleures chansons",
        "plus grands tubes",
        r"le meilleur d(?:e|es|u|['’]\w+)(?! (?:l['’]amour|lui|moi|nous|soi|toi|tout|vous)(?!\w))",
        # Italian
        "(?:piu )?grandi successi", "piu belle canzoni",
        r"(?:miei|suoi|\d+) (?:piu grandi )?successi",
        r"il meglio d(?:i|ei|el|ella|egli)(?! (?:me|noi|te|tutto|vita)(?!\w))",
        # German
        "grossten? (?:hits|erfolge)", "grossen erfolge", "grosse erfolge",
        "schonsten (?:lieder|songs)",
        "besten (?:hits|lieder|songs)",
        r"das (?:aller)?beste (?:aus|von|vom)(?! (?:allem|beiden|dir|mir|uns|zwei)(?!\w))",
        # Dutch
        "grootste (?:hits|successen)", "mooiste (?:liederen|liedjes|songs)",
        "beste (?:liedjes|nummers)",
        r"het (?:aller)?beste (?:uit|van)(?! (?:alles|jou|mij|ons|twee)(?!\w))",
        # Russian
        "лучшие (?:песни|хиты)", "(?:большие|золотые) хиты", "золотая коллекция", "избранное",
        "лучшее из",
        r"лучшее(?=\W*(?:\d|$)| за | и новое)",
    ),
    parts=(
        # Japanese
        "ベスト(?!・?(?:セラー|タイム|パートナー|フレン[ズド]))", "シングル・?コレクション",
        "グレイテスト・?ヒッツ",
        "ヒット曲集", "全曲集",
        # Korean
        "베스트(?! ?(?:셀러|프렌드|프렌즈))", "히트곡", "그레이티스트 ?히트",
        # Chinese
        "精選", "精选",
    ),
)  # fmt: skip
"""Titles of albums of earlier recordings; `(?!` excludes `The Best of Me`."""


@cache
def best_of_pattern() -> re.Pattern[str]:
    """Return an expression that finds the title of a best-of in a folded title."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(BEST_OF.whole)})(?!\w)|{'|'.join(BEST_OF.parts)}")


def _language(whole: tuple[str, ...], parts: tuple[str, ...] = ()) -> Words:
    return Words(whole, parts, of="language", beside=True)


VERSIONS: dict[str, Words] = {
    "live": Words(
        (
            "live", "live(?:version|aufnahme|mitschnitt|fassung|opname)", "en vivo",
            "en directo", "en (?:public|concert)", "ao vivo", "dal vivo", "im konzert",
            "in concert", "concert(?= (?:version|recording))",
            "живое выступление", "концертная (?:запись|версия)", "на концерте",
        ),
        ("ライブ", "ライヴ", "现场", "現場", "라이브"),
        of="kind",
    ),
    "remix": Words(
        (
            "re-?mix(?:ed|es)?", "rmx", r"re-?work(?:ed|ing)?", r"vip(?= *(?:$|mix))",
            "dub(?= *(?:$|cut|edit|take))", "remezcla", "ремикс",
            r"(?:extended|house|maxi)[-\s]mix",
            "(?:club|dub|dance|disco|(?:12|twelve)[-\\s]?(?:[\"”]|''|′′|inch))[-\\s]*(?:mix|version)",
        ),
        ("リミックス", "리믹스"),
        of="kind",
    ),
    "demo": Words(
        (
            "demo(?:s|version|aufnahme|opname)?", "maqueta", "maquette", "provino",
            "демо(?:-?верси[яи]|запись)?",
        ),
        ("デモ", "데모"),
        of="kind",
    ),
    "edit": Words(("edit", r"radio[-\s](?:version|mix)")),
    "acoustic": Words(
        (
            "acoustic", "unplugged", "acustic[ao]", "acoustique", "akustik(?:version|fassung)?",
            "akustisch", "akoestisch", r"акустическ\w*", "акустика",
        ),
        ("アコースティック", "어쿠스틱"),
        of="kind",
    ),
    "mono": Words(
        ("mono(?:mix|fassung|version)?", "monaural", "моно"),
        ("モノラル", "모노"),
        of="mix",
    ),
    "stereo": Words(
        ("stereo(?:mix|fassung|version)?", "стерео"),
        ("ステレオ", "스테레오"),
        of="mix",
    ),
    "instrumental": Words(
        (
            "instrumental(?:e|version|fassung)?", "inst", "karaoke", "off[ -]vocal",
            "backing track", "minus one", "a ?capp?ella", "strumentale", "instrumentaal",
            r"инструментал\w*", "минусовка", "караоке",
        ),
        ("カラオケ", "インスト", "노래방", "반주", "伴奏"),
        of="kind",
    ),
    "re-recorded": Words(
        (
            "re-?record(?:ed|ing)", "new(?:ly)? record(?:ed|ing)", "new version", "new vocals?",
            "self[ -]cover", r"\w+['’]s version", r"(?:19|20)\d\d version",
            "nueva (?:grabacion|version)", "regrabad[ao]", "nova (?:gravacao|versao)",
            "regravad[ao]", "nouvel enregistrement", "nouvelle version",
            "nuova (?:registrazione|versione)", "neuaufnahme", "neueinspielung",
            "neue (?:aufnahme|version)", "neu aufgenommen", "nieuwe (?:opname|versie)",
            "новая (?:запись|версия)", "перезапись",
        ),
        ("セルフカバー", "再録", "新録", "재녹음", "리레코딩", "重录", "重錄"),
        of="kind",
    ),
    "single": Words(
        (
            "single", "(?:7|seven)[-\\s]?(?:[\"”]|''|′′|inch)", "45", "sencillo", "singolo",
            r"сингл\w*",
        ),
        ("シングル", "싱글"),
        of="cut",
        beside=True,
    ),
    "album": Words(
        ("album", "lp", "long[- ]?play", r"альбомн\w*"),
        ("アルバム", "앨범"),
        of="cut",
        beside=True,
    ),
    "extended": Words(
        (
            "extended", "long", "(?:12|twelve)[-\\s]?(?:[\"”]|''|′′|inch)", "maxi", "extendida",
            "estendida", "longue", "lange",
        ),
        ("ロング",),
        of="cut",
        beside=True,
    ),
    "clean": Words(("clean", "censored", "radio[- ]safe"), of="wording", beside=True),
    "explicit": Words(("explicit", "uncensored", "dirty"), of="wording", beside=True),
    "take": Words(
        (
            r"takes?(?= ?(?:no\.? |nr\.? |number )?#?\d)", r"(?:toma|prise)(?= ?#?\d)",
            r"(?<=\d )take", "тейк",
        ),
        ("テイク",),
    ),
    "alternate": Words(
        (
            "alternat(?:e|ive)", r"alt\.?(?= (?:mix|take|version|vocal)s?)", "out-?takes?",
            "different (?:version|take|mix)", "early (?:version|take|mix)",
            "(?:version|toma) alternativa", "version alternative", "prise alternative",
            "versao alternativa", "versione alternativa", "alternativ(?:e fassung|version)",
            "alternatieve versie", r"альтернативн\w+ (?:версия|дубль)",
        ),
        ("別テイク", "別バージョン", "別ミックス"),
    ),
    "rehearsal": Words(("rehearsals?", "ensayo", "ensaio", "репетиция"), ("リハーサル", "리허설")),
    "bbc": Words(("bbc(?: radio(?: ?(?:1|2|4|one|two))?)?(?: sessions?)?", "maida vale")),
    "peel": Words(("(?:john )?peel(?: sessions?)?",)),
    "session": Words(
        ("sessions?", "sesion(?:es)?", "sessao", "sessione", "сессия"),
        ("セッション", "세션"),
    ),
    "duet": Words(
        (
            "duett?(?:version|fassung)?", "dueto", "duetto", "en duo", "duo version", "дуэт",
        ),
        ("デュエット", "듀엣"),
    ),
    "solo": Words(("solo",), beside=True),
    "piano": Words(("piano", "klavier", "пиано"), ("ピアノ", "피아노"), beside=True),
    "orchestral": Words(
        (
            "orchestral?", "symphonic", "orchest(?:er|re|ra)", "orquestal?", "sinfonic[ao]",
            r"оркестров\w+",
            r"with (?:the )?(?:\S+ ){0,4}(?:orchestra|(?:philharmonic|symphony)(?: orchestra)?)",
        ),
        ("オーケストラ", "오케스트라"),
        beside=True,
    ),
    "stripped": Words(("stripped(?:[- ]?(?:back|down))?",), beside=True),
    "reprise": Words(("reprise",), beside=True),
    "interlude": Words(("interlude",), beside=True),
    "tempo": Words(
        ("(?:sped|speed)[- ]?up", "slowed(?:[- ]down)?(?: ?(?:and|&|\\+) ?reverb)?", "nightcore"),
    ),
    "film": Words(
        ("film", "movie", "pelicula", "kino"),
        ("映画", "영화"),
        beside=True,
    ),
    "video": Words((r"(?:music[- ])?video(?=[- ]?(?:version|mix|edit|cut)(?!\w))",)),
    "tv": Words(
        ("tv[ -](?:size|version|edit|mix)",),
        ("tvサイズ", "tvバージョン", "テレビサイズ"),
        of="cut",
    ),
    "english": _language(
        (
            "english", "ingles[ae]?", "anglaise?", "inglese", "englische?",
            "engelse?", r"английск\w+",
        ),
        ("英語", "영어", "英文"),
    ),
    "spanish": _language(
        (
            "spanish", "espanol[ae]?", "castellano", "espagnole?",
            "spagnol[ao]", "spanische?", "spaanse?",
            "espanhola?", r"испанск\w+",
        ),
        ("スペイン語", "스페인어"),
    ),
    "portuguese": _language(
        (
            "portuguese", "brazilian", "portugues[ae]?", "portugaise?",
            "portoghese", "portugiesische?",
            "portugese?", r"португальск\w+",
        ),
        ("ポルトガル語", "포르투갈어"),
    ),
    "french": _language(
        (
            "french", "frances[ae]?", "francaise?", "francese",
            "franzosische?", "franse?", r"французск\w+",
        ),
        ("フランス語", "프랑스어"),
    ),
    "italian": _language(
        (
            "italian", "italian[ao]", "italien(?:ne)?", "italienische?", "italiaanse?",
            r"итальянск\w+",
        ),
        ("イタリア語", "이탈리아어"),
    ),
    "german": _language(
        (
            "german", "aleman[ae]?", "allemande?", "tedesc[ao]", "deutsche?",
            "duitse?", "alem[ao]o?",
            r"немецк\w+",
        ),
        ("ドイツ語", "독일어"),
    ),
    "dutch": _language(
        (
            "dutch", "holandes", "neerlandaise?", "olandese", "niederlandische?", "nederlandse?",
            r"голландск\w+",
        ),
        ("オランダ語", "네덜란드어"),
    ),
    "russian": _language(
        ("russian", "rus[ao]", "russ[aeo]", "russische?", r"русск\w+"),
        ("ロシア語", "러시아어"),
    ),
    "japanese": _language(
        (
            "japanese", "japones[ae]?", "japonaise?", "giapponese",
            "japanische?", "japanse?", r"японск\w+",
        ),
        ("日本語", "일본어", "日文"),
    ),
    "korean": _language(
        ("korean", "corean[ao]", "coreen", "koreanisch", "koreaans", r"корейск\w+"),
        ("韓国語", "한국어", "韩文", "韓文"),
    ),
    "mandarin": _language(
        (
            "chinese", "mandarin", "chin[ao]", "chinoise?", "cinese", "chinesisch", r"китайск\w+",
        ),
        ("中国語", "중국어", "国语", "國語", "中文"),
    ),
    "cantonese": _language(("cantonese",), ("粤语", "粵語", "広東語")),
    "swedish": _language(
        ("swedish", "suec[ao]", "suedois", "svedese", "schwedisch", "svensk(?:a)?"),
    ),
    "polish": _language(
        ("polish", "polac[ao]", "polonais", "polacco", "polnisch", r"польск\w+"),
    ),
    # Words for a version. A remark without any of these words belongs to the title.
    "version": Words(
        (
            r"vers?(?:ion(?:e|es)?|ao|ie|\.)?", r"\w*fassung", "верси[яи]", "mix(?:es|ed)?",
            "edit(?:ed)?", "takes?", "record(?:ed|ing)", "vocals?", "lyrics?", "language",
            "recorded", "запись", "aufnahme", "grabacion", "enregistrement", "registrazione",
            "gravacao", "opname", "sung", "size",
        ),
        ("バージョン", "ヴァージョン", "ミックス", "サイズ", "버전", "믹스", "版"),
    ),
    # Words that do not tell recordings apart.
    "nothing": Words(
        (
            "original(?:e|ly)?", "full", "main", "standard", "studio", "length", "the", "an",
            "at", "by", "for", "from", "in", "of", "on", "with", "and", "auf", "aus", "bei",
            "con", "da", "dal", "das", "de", "del", "den", "der", "di", "die", "do", "du", "e",
            "el", "em", "en", "et", "het", "im", "la", "le", "les", "los", "met", "mit", "na",
            "op", "und", "van", "von", "на", "radio", "video", "bonus", "tracks?",
            "deluxe", "edition", "digital", "cd", "vinyl", "sacd", "dsd", "hd", "hi", "res",
            "hires", r"\d+-?bit", r"\d+-?khz", "no", "nr", "number",
        ),
    ),
}  # fmt: skip
"""Words in remarks and comments that tell versions apart. The first that matches counts."""

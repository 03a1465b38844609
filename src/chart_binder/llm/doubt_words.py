"""The words that keep a date from being told, in the languages whose months are read.

In the order of `month_names`: English, German, French, Spanish, Italian, Portuguese, Dutch,
Scandinavian, Polish, Russian. A star stands for whatever ends a word: `geplant*`.
"""

from dataclasses import dataclass

from chart_binder.llm.month_names import folded


@dataclass(frozen=True, slots=True)
class Words:
    """Whole words and phrases of up to three words, and words by how they begin."""

    whole: frozenset[str]
    begun: tuple[str, ...]

    @classmethod
    def of(cls, listed: str) -> "Words":
        """Read a list that commas part."""
        words = {folded(word) for word in _listed(listed)}
        begun = {word for word in words if word.endswith("*")}
        return cls(frozenset(words - begun), tuple(sorted(word[:-1] for word in begun)))

    def __contains__(self, phrase: str) -> bool:
        return phrase in self.whole or (" " not in phrase and phrase.startswith(self.begun))


def _listed(words: str) -> tuple[str, ...]:
    return tuple(" ".join(word.split()) for word in words.split(",") if word.strip())


ABOUT = Words.of(
    """
    circa, ca, ca., c., around, about, approximately, approx, approx., roughly, before, until, till,
    after, by, prior to, previous to, subsequent to, later than, earlier than, est., estimated,
    unreleased, unveröffentlicht*,
    etwa, ungefähr, rund, gegen, um, vor, nach, bis, spätestens, frühestens, zirka,
    inédit*, vers, environ, avant, après, aux alentours, autour, jusqu'en, jusqu'au, jusqu'à,
    hacia, alrededor, aproximadamente, antes, después, hasta, cerca,
    verso, intorno, prima, dopo, fino, entro, attorno,
    cerca, por volta, antes, depois, após, até, em torno, aproximadamente,
    rond, omstreeks, ongeveer, voor, tot, uiterlijk,
    omkring, cirka, runt, rundt, före, før, efter, etter, inden, innan, ungefär, omtrent,
    około, ok., przed, okolicach, najpóźniej, mniej więcej,
    около, ок., примерно, приблизительно, до, после, не позднее, не ранее, ориентировочно
    """
)
"""What a date is not, but only near: between it and the date may stand what names its time."""

ABOUT_NEXT = Words.of("na, po, do, к")
"""Such words in one language, others in another: next to the date itself only."""

HEDGES = Words.of(
    """
    possibly, probably, perhaps, maybe, presumably, supposedly, allegedly, reportedly, likely,
    purportedly, ostensibly, apparently, seemingly, tentatively, conceivably, rumoured, rumored,
    speculated, believed, assumed, claimed, thought, suspected, unconfirmed, unverified, uncertain,
    unclear, unknown, disputed, may have, might have, could have, would have, should have, may be,
    might be, could be, must have, seems, appears to,
    möglicherweise, wahrscheinlich, höchstwahrscheinlich, vermutlich, vielleicht, angeblich,
    mutmaßlich, wohl, anscheinend, eventuell, offenbar, unbestätigt*, unbekannt*, ungewiss*, unklar,
    unsicher, soll, sollte, dürfte, könnte, geschätzt*,
    possiblement, probablement, peut-être, vraisemblablement, sans doute, apparemment, semble*,
    supposément, prétendument, serait, aurait, devait, inconnu*, incertain*, estimé*,
    posiblemente, probablemente, quizá, quizás, tal vez, supuestamente, presuntamente,
    presumiblemente, aparentemente, lo mejor, habría, sería, debía, se cree, se rumorea,
    desconocid*, inciert*, estimad*,
    possibilmente, probabilmente, forse, presumibilmente, presumo*, apparentemente, sembra, pare,
    sarebbe, avrebbe, doveva, dovrebbe, sconosciut*, incert*, stimat*,
    possivelmente, provavelmente, talvez, supostamente, alegadamente, presumivelmente,
    aparentemente, teria, seria, deveria, desconhecid*, incert*,
    mogelijk, waarschijnlijk, misschien, vermoedelijk, wellicht, verluidt, naar verluidt, zou,
    onbekend*, onzeker, geschat*, vermoed*,
    möjligen, möjligtvis, troligen, troligtvis, kanske, förmodligen, antagligen, sannolikt,
    muligvis, sandsynligvis, måske, angiveligt, formentlig*, formodentlig, muligens, sannsynligvis,
    kanskje, angivelig, trolig, skulle, okänt, okänd, ukendt, ukjent, uppskatta*, påstås,
    prawdopodobnie, możliwe, możliwie, być może, przypuszczalnie, podobno, rzekomo, ponoć, chyba,
    miał, miała, miało, nieznan*, niepewn*, szacunkowo,
    возможно, вероятно, наверное, может быть, предположительно, якобы, видимо, неизвестн*, по
    слухам, по-видимому, должен был, должна была, должен, должна
    """
)
"""Somebody is not sure. Between it and the date may stand that something came out."""

DENIED = Words.of(
    """
    not, never, cannot, nor, withdrawn, cancelled, canceled, postponed, delayed,
    shelved, scrapped, planned, scheduled, intended, expected, anticipated, slated, aborted,
    due to, due for, due on, due in, due by, due, set for, set to, announced for, announced on,
    announced in, announced by, slated for,
    nicht, nie, niemals, kein, keine, keinesfalls, geplant*, angekündigt*, vorgesehen*, abgesagt*,
    verschoben*, zurückgezogen*, gestrichen*, voraussichtlich, erwartet*,
    pas, jamais, aucun, aucune, prévu*, annoncé*, annulé*, reporté*, repoussé*, programmé*,
    nunca, jamás, no salió, no fue, no se, no apareció, no ha, no había, no llegó, previst*,
    planead*, programad*, anunciad*, cancelad*, pospuest*, aplazad*,
    non, mai, previst*, annunciat*, programmat*, annullat*, rimandat*, rinviat*, cancellat*,
    não, nunca, jamais, planejad*, planead*, adiad*, agendad*, marcad*, prevê*,
    niet, nooit, geen, gepland*, aangekondigd*, verwacht*, uitgesteld*, geannuleerd*, afgelast*,
    inte, aldrig, ikke, ikkje, ej, aldri, planera*, planlagt*, planlagd*, väntad*, inställd*,
    uppskjut*, aflyst*, avlyst*, udskudt*, udsat*, utsatt*, forvent*, ventet*, annonsera*,
    annonceret*, annonsert*,
    nie, nigdy, planowan*, zapowiedzian*, zapowiadan*, odwołan*, przełożon*, przesunięt*,
    не, никогда, запланирован*, планир*, намечен*, отменен*, перенесен*, отложен*, ожида*,
    анонсирован*
    """
)
"""It did not come about, or was only going to."""

TIMES = Words.of(
    """
    the, in, on, for, of, it, be, sometime, early, mid, late, beginning, start, middle, end, summer,
    spring, autumn, fall, winter, at, from, year, monday, tuesday, wednesday, thursday, friday,
    saturday, sunday,
    am, im, in der, der, dem, den, des, für, auf, anfang, anfangs, mitte, ende, sommer, frühjahr,
    frühling, herbst, jahr, jahre, jahres, montag, dienstag, mittwoch, donnerstag, freitag, samstag,
    sonnabend, sonntag, zum, zu,
    le, la, en, au, du, de, pour, mois, début, mi, fin, été, printemps, automne, hiver, l'été,
    l'automne, l'hiver, l'année, année, l, lundi, mardi, mercredi, jeudi, vendredi, samedi,
    dimanche,
    el, de, del, los, para, principios, mediados, finales, año, verano, primavera, otoño, invierno,
    lunes, martes, miércoles, jueves, viernes, sábado, domingo,
    il, nel, nell, nell'anno, del, dell, all, per, al, l'anno, inizio, metà, fine, estate, autunno,
    inverno, anno, lunedì, martedì, mercoledì, giovedì, venerdì, sabato,
    o, em, do, da, dia, ano, início, meados, final, fins, verão, outono, segunda-feira, terça-feira,
    quarta-feira, quinta-feira, sexta-feira,
    op, het, begin, midden, eind, einde, zomer, najaar, voorjaar, jaar, maandag, dinsdag, woensdag,
    donderdag, vrijdag, zaterdag, zondag,
    i, på, til, till, att, at, början, mitten, slutet, av, sommaren, våren, hösten, vintern, året,
    begyndelsen, midten, slutningen, slutten, starten, måndag, tisdag, onsdag, torsdag, fredag,
    lördag, söndag, mandag, tirsdag, lørdag, søndag,
    w, we, dnia, początku, początkiem, połowie, końcu, końca, roku, rok, lato, latem, wiosną,
    jesienią, poniedziałek, wtorek, środę, czwartek, piątek, sobotę, niedzielę,
    в, на, начале, середине, конце, летом, весной, осенью, зимой, году, год, года, начала, конца
    """
)
"""What names a time more closely: it may stand between a doubt and its date."""

CAME_OUT = Words.of(
    """
    released, release, issued, published, launched, dropped, appeared, appear, came, come, out,
    been, was, is, to, have, has, had, first, yet, actually, initially, originally, officially,
    commercially, put, available, sold, made, being, were, that, originated, date, as, a, single,
    album, ep, uk, us, usa, britain, england, europe, america, germany, france, japan, worldwide,
    there,
    erschienen, erschien, erscheinen, veröffentlicht, herausgekommen, herausgebracht, erstmals,
    erst, wurde, worden, war, ist, markt, gekommen, kam, heraus,
    sorti, sortie, sortir, paru, parue, paraître, publié, publiée, édité, éditée, été, est, était,
    avoir, être, officiellement, commercialisé,
    publicado, publicada, publicarse, lanzado, lanzada, lanzarse, editado, editada, salió, salir,
    apareció, sido, fue, ser, haber, haya, se, que, oficialmente,
    pubblicato, pubblicata, uscito, uscita, uscire, uscì, uscisse, edito, stato, stata, essere, è,
    fu, venne, ufficialmente,
    publicado, publicada, lançado, lançada, lançar, saiu, sair, foi, sido, ter, oficialmente,
    uitgebracht, verschenen, verscheen, verschijnen, uitgekomen, uitkomen, uit, kwam, werd, is,
    zijn, worden, officieel,
    släppt, släpptes, släppas, utgiven, utgivet, utkom, utkommit, udgivet, udkom, udkomme, utgitt,
    utkommet, udsendt, kom, komma, komme, ut, ud, ble, blev, været, blivit, ha, har, er, är, var,
    wydany, wydana, wydane, wydano, ukazał, ukazała, ukazało, ukazać, się, został, została, zostało,
    zostać, był, była, wyjść, wyszedł, wyszła, oficjalnie,
    выпущен, выпущена, выпущено, вышел, вышла, вышло, выйти, издан, издана, издано, был, была, было,
    быть, выпустить, официально, релиз, выход, выхода
    """
)
"""What came out: it may stand between a hedge or a denial and its date."""

OTHERWISE = Words.of(
    """
    recorded, recording, taped, filmed, written, composed, mixed, mastered, performed, aired,
    broadcast, charted, chart, charts, peaked, certified, born, died, founded, formed, disbanded,
    retrieved, accessed, archived, updated, modified, edited, posted, uploaded, added, viewed,
    aufgenommen, aufnahme, aufnahmen, komponiert, aufgeführt, abgerufen, aktualisiert, stand,
    geboren, gestorben, gegründet,
    enregistré*, enregistrement, composé*, consulté*, mis à jour, né, née, mort, morte, fondé*,
    grabado, grabada, grabación, compuest*, consultado, consultada, actualizado, actualizada,
    nacido, nacida, nació, fallecido, fallecida, falleció, murió, fundado, fundada,
    registrato, registrata, registrazione, composto, composta, consultato, consultata, aggiornat*,
    nato, nata, morto, morta, fondato, fondata,
    gravado, gravada, gravação, acesso, acessado, acessada, atualizado, atualizada, nascido,
    nascida, nasceu, falecido, morreu,
    opgenomen, opname, opnamen, geschreven, geraadpleegd, bijgewerkt, overleden, opgericht,
    inspelad, inspelat, inspelning, indspillet, innspilt, hämtad, hämtat, hentet, läst, besökt,
    uppdaterad, opdateret, oppdatert, född, født, död, død,
    nagrany, nagrana, nagrane, nagrano, nagranie, dostęp, zaktualizowan*, urodzon*, zmarł, zmarła,
    записан, записана, записано, запись, обращения, проверено, обновлен*, родился, родилась, умер,
    умерла, основан*
    """
)
"""What else may have happened on a day: its date is that of no release."""

BETWEEN = _listed(
    """
    between, zwischen, entre, tra, fra, tussen, mellan, mellem, mellom, pomiedzy, miedzy, между
    """
)
AND = _listed("and, und, et, y, e, i, и, en, och, og, a, &")
"""Words of a span: `between 1970 and 1974`."""
TO = _listed(
    """
    to, until, till, til, thru, through, bis, or, oder, ou, eller, lub, albo, tot, или, до, по
    """
)
"""Words of a span or a choice: `1970 to late 1974`."""
TO_YEARS = (*TO, "a", "al", "o", "u", "of", "do")
"""And those that mean other things, too, unless years stand on both sides."""

CJK_BEFORE = _listed(
    """
    約, 约, 大約, 大约, およそ, おそらく, 恐らく, たぶん, 多分, 推定, 可能, 或許, 或许, 也許,
    也许, 原定, 預計, 预计, 予定, 予定日, 当初, 予定日は, 未于, 未於, 不是, 약, 대략, 아마,
    아마도, 추정, 예정일
    """
)
CJK_AFTER = _listed(
    """
    頃, ごろ, ころ, 前後, 前后, 以前, 以降, 以後, 以后, より前, まで, 之前, 之後, 之后, 左右,
    予定, 未定, 中止, 延期, 預定, 预定, 取消, せず, されず, されなかった, しなかった,
    されていない, 경, 쯤, 무렵, 이전, 이후, 까지, 전후, 예정, 취소, 연기
    """
)
CJK_OUT = _listed(
    """
    には, に, の, が, は, を, される, する, 発売, リリース, 発表, 發行, 发行, 에, 발매, 출시,
    공개, 된, 할, 될
    """
)
CJK_OTHERWISE = _listed(
    """
    録音, 収録, 撮影, 閲覧, 更新, 放送, 生まれ, 誕生, 死去, 逝去, 結成, 录制, 錄製, 录音, 錄音,
    出生, 查阅, 查閱, 访问, 녹음, 녹화, 방송, 방영, 태어, 출생, 사망, 열람, 확인
    """
)
CJK_TO = _listed("から, または, あるいは, 至, 到, 或, ~, 〜, 부터, 에서, 또는")
"""Chinese, Japanese and Korean put most of them behind the date: `1974年10月頃`, `に発売予定`."""

AFTER = _listed(
    """
    circa, ca., approx, approximately, or so, or thereabouts, or earlier, or later,
    at the latest, at the earliest, ungefahr, environ, ongeveer
    """
)
"""What may stand behind a date without brackets."""

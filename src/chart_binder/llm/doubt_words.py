"""The words that keep a date from being told, in the languages whose months are read.

In the order of `domain.dates.MONTHS`, from English to Hungarian. A star stands for whatever ends a
word: `geplant*`.
"""

from dataclasses import dataclass

from chart_binder.domain.vocabulary import fold


@dataclass(frozen=True, slots=True)
class Words:
    """Whole words and phrases of up to three words, and words by how they begin."""

    whole: frozenset[str]
    begun: tuple[str, ...]

    @classmethod
    def of(cls, listed: str) -> "Words":
        """Read a list that commas part."""
        words = {fold(word) for word in parted(listed)}
        begun = {word for word in words if word.endswith("*")}
        return cls(frozenset(words - begun), tuple(sorted(word[:-1] for word in begun)))

    def __contains__(self, phrase: str) -> bool:
        return phrase in self.whole or (" " not in phrase and phrase.startswith(self.begun))


def parted(words: str) -> tuple[str, ...]:
    """Return what commas part."""
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
    около, ок., примерно, приблизительно, до, после, не позднее, не ранее, ориентировочно,
    přibližně, zhruba, kolem, okolo, cca, před, nejpozději, nejdříve, noin, arviolta, ennen,
    viimeistään, aikaisintaan, περίπου, γύρω, πριν, μετά, έως, μέχρι, δεκαετία, yaklaşık, takriben,
    körülbelül, kb., mintegy, nagyjából, legkésőbb, legkorábban
    """
)
"""What a date is not, but only near: between it and the date may stand what names its time."""

ABOUT_NEXT = Words.of("na, po, do, к, asi")
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
    слухам, по-видимому, должен был, должна была, должен, должна,
    možná, pravděpodobně, snad, zřejmě, údajně, patrně, prý, nejspíš, nejspíše, nejist*, neznám*,
    odhad*, měl vyjít, měla vyjít, mělo vyjít,,
    mahdollisesti, todennäköisesti, luultavasti, ehkä, kenties, ilmeisesti, oletettavasti,
    tiettävästi, tuntemat*, epävarm*, piti ilmestyä, piti julkaista, pitäisi,,
    πιθανώς, πιθανόν, πιθανότατα, πιθανά, ίσως, μάλλον, ενδεχομένως, φέρεται, υποτίθεται, λέγεται,
    εικάζεται, άγνωστ*, αβέβαι*,,
    muhtemelen, belki, galiba, tahminen, herhalde, ihtimalle, olasılıkla, sözde, iddia*, bilinmeyen,
    belirsiz*,,
    talán, valószínűleg, feltehetőleg, feltehetően, vélhetően, állítólag, esetleg, ismeretlen*,
    bizonytalan*, becsült
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
    анонсирован*,
    nikdy, není, nebyl, nebyla, nebylo, nevyšel, nevyšla, nevyšlo, nevydal*, plánován*, plánovan*,
    oznámen*, ohlášen*, zrušen*, odložen*, přesunut*, očekáván*, ei, eivät, koskaan, suunnitel*,
    peruttu*, peruutettu*, lykätty*, lykättiin, siirretty*, odotet*, julkaisemat*, δεν, ποτέ, θα,
    προγραμματι*, σχεδιαζόταν, αναβλήθηκε, ακυρώθηκε, ακυρωμέν*, αναμεν*, ακυκλοφόρητ*, asla,
    planlan*, ertelen*, iptal, beklen*, duyurul*, nem, soha, sosem, tervez*, elhalaszt*, töröl*,
    várhat*, bejelent*, kiadatlan*
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
    в, на, начале, середине, конце, летом, весной, осенью, зимой, году, год, года, начала, конца,
    v, ve, roku, roce, dne, začátku, začátkem, koncem, konci, polovině, létě, jaře, podzim, zimě,
    pondělí, úterý, středu, čtvrtek, pátek, sobotu, neděli, vuonna, vuoden, alussa, lopussa,
    puolivälissä, kesällä, keväällä, syksyllä, talvella, maanantaina, tiistaina, keskiviikkona,
    torstaina, perjantaina, lauantaina, sunnuntaina, το, τον, τη, την, της, του, στις, στα, στην,
    στο, στον, από, για, έτος, έτους, αρχές, μέσα, τέλη, καλοκαίρι, άνοιξη, φθινόπωρο, χειμώνα,
    δευτέρα, τρίτη, τετάρτη, πέμπτη, παρασκευή, σάββατο, κυριακή, yılı, yılında, yılının, tarihinde,
    ayında, günü, başında, başlarında, ortalarında, sonunda, sonlarında, yazında, pazartesi, salı,
    çarşamba, perşembe, cuma, cumartesi, pazar, az, év, évi, elején, közepén, végén, nyarán,
    tavaszán, őszén, telén, hétfőn, kedden, szerdán, csütörtökön, pénteken, szombaton, vasárnap,
    τις, tarih, tarihi, měsíci
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
    быть, выпустить, официально, релиз, выход, выхода,
    vydán, vydána, vydáno, vydal, vydala, vyšel, vyšla, vyšlo, vyjít, byl, byla, bylo, být,
    oficiálně, julkaistu, julkaistiin, julkaista, ilmestyi, ilmestynyt, ilmestyä, oli, ollut,
    virallisesti, κυκλοφόρησε, κυκλοφορήσει, κυκλοφορία, εκδόθηκε, εκδοθεί, να, ήταν, είναι, είχε,
    επίσημα, yayımlandı, yayımlanan, yayınlandı, yayınlanan, çıktı, çıkan, piyasaya, sürüldü,
    resmen, albüm, olarak, ilk, jelent, megjelent, megjelenni, meg, kiadták, kiadott, adták, ki,
    volt, hivatalosan,
    vydání, datum, julkaistavaksi, julkaisu, julkaisupäivä, ημερομηνία, κυκλοφορίας, çıkış, yayın,
    megjelenés, megjelenése, megjelenési, dátum, dátuma
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
    умерла, основан*,
    nahrán, nahrána, nahráno, nahráván*, nahrávání, natočen*, složen*, narozen*, narodil*, zemřel*,
    založen*, citováno, navštíveno, aktualizov*, äänitetty*, äänitettiin, nauhoitettu*,
    nauhoitettiin, levytetty*, syntynyt, syntyi, kuoli, kuollut, perustettu*, viitattu, luettu,
    haettu, päivitetty*, ηχογραφήθηκε, ηχογραφημέν*, ηχογράφηση, γεννήθηκε, πέθανε, ιδρύθηκε,
    ανακτήθηκε, πρόσβαση, ενημερώθηκε, kaydedil*, kayıt, doğdu, doğum, kuruldu, erişim*, güncellen*,
    rögzített*, felvétel*, született, elhunyt, alapított*, hozzáférés*,
    přístup, nahrávka
    """
)
"""What else may have happened on a day: its date is that of no release."""

BETWEEN = parted(
    """
    between, zwischen, entre, tra, fra, tussen, mellan, mellem, mellom, pomiedzy, miedzy, между,
    mezi, μεταξύ
    """
)
AND = parted("and, und, et, y, e, i, и, en, och, og, a, &, ja, και, ve, ile, és")
"""Words of a span: `between 1970 and 1974`."""
TO = parted(
    """
    to, until, till, til, thru, through, bis, or, oder, ou, eller, lub, albo, tot, или, до, по,
    nebo, tai, έως, μέχρι, veya, vagy
    """
)
"""Words of a span or a choice: `1970 to late 1974`."""
TO_YEARS = (*TO, "a", "al", "o", "u", "of", "do", "až", "ή")
"""And those that mean other things, too, unless years stand on both sides."""

AFTER = parted(
    """
    circa, ca., approx, approximately, or so, or thereabouts, or earlier, or later,
    at the latest, at the earliest, ungefahr, environ, ongeveer
    """
)
"""What may stand behind a date without brackets."""


CJK_BEFORE = parted(
    """
    約, 约, 大約, 大约, およそ, おそらく, 恐らく, たぶん, 多分, 推定, 可能, 或許, 或许, 也許,
    也许, 原定, 預計, 预计, 予定, 予定日, 当初, 予定日は, 未于, 未於, 不是, 약, 대략, 아마,
    아마도, 추정, 예정일
    """
)
CJK_AFTER = parted(
    """
    頃, ごろ, ころ, 前後, 前后, 以前, 以降, 以後, 以后, より前, まで, 之前, 之後, 之后, 左右,
    予定, 未定, 中止, 延期, 預定, 预定, 取消, せず, されず, されなかった, しなかった,
    されていない, 경, 쯤, 무렵, 이전, 이후, 까지, 전후, 예정, 취소, 연기
    """
)
CJK_OUT = parted(
    """
    には, に, の, が, は, を, される, する, 発売, リリース, 発表, 發行, 发行, 에, 발매, 출시,
    공개, 된, 할, 될
    """
)
CJK_OTHERWISE = parted(
    """
    録音, 収録, 撮影, 閲覧, 更新, 放送, 生まれ, 誕生, 死去, 逝去, 結成, 录制, 錄製, 录音, 錄音,
    出生, 查阅, 查閱, 访问, 녹음, 녹화, 방송, 방영, 태어, 출생, 사망, 열람, 확인
    """
)
CJK_TO = parted("から, または, あるいは, 至, 到, 或, ~, 〜, 부터, 에서, 또는")
"""Chinese, Japanese and Korean put most of them there: `1974年10月頃`, `に発売予定`."""

BEHIND_TIMES = parted(
    "tarihinde, tarihinden, tarihine, günü, ayında, yılında, yılından, yılına, päivänä"
)
BEHIND = parted(
    """
    jälkeen, mennessä, saakka, tienoilla, paikkeilla, aikoihin, välillä, civarı, civarında,
    dolaylarında, arasında, yayımlanmadı, yayınlanmadı, çıkmadı, planlanan, planlandı,
    planlanıyordu, ertelendi, iptal, körül, előtt, után, között, táján, nem
    """
)
BEHIND_CASES = parted("önce, sonra, kadar, beri")
"""Turkish, whose words others have (`once`): where the date, or what names its time, has a case."""
BEHIND_OTHERWISE = parted(
    """
    äänitetty, äänitettiin, nauhoitettu, nauhoitettiin, kaydedildi, kaydedilen, kaydedilmiş, doğdu,
    doğan, kuruldu, erişildi, rögzítették, rögzített, született, alapították
    """
)
"""Finnish, Turkish and Hungarian put many of them there: `1974'ten önce`, `1974 előtt`."""
SPANNED = parted("välillä, arasında, között")
"""Behind the second of two years: `1973 és 1974 között`."""

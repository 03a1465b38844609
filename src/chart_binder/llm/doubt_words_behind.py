"""Words of doubt in languages that put them behind the date."""

from chart_binder.llm.doubt_words import parted

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

"""Answer scales that everybody knows, so that "agree" comes after "disagree" and not before it.

An order that is found here is a guess: it changes no likelihood, only where the states stand, and which of them
``merge_rare`` takes for neighbours. The variable says that it was guessed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from .._variables import State

__all__ = ["scale_order"]

ENGLISH = """
no < yes
no < don't know < yes
no < maybe < yes
false < true
strongly disagree|disagree strongly|completely disagree|totally disagree < disagree
    < somewhat disagree|slightly disagree|disagree somewhat|disagree slightly|rather disagree
    < neither|neutral|undecided|neither agree nor disagree|neither disagree nor agree|no opinion
    < somewhat agree|slightly agree|agree somewhat|agree slightly|rather agree < agree
    < strongly agree|agree strongly|completely agree|totally agree
very dissatisfied < dissatisfied < somewhat dissatisfied < neither|neutral|neither satisfied nor dissatisfied
    < somewhat satisfied < satisfied < very satisfied
never < almost never < rarely|seldom < occasionally < sometimes < often|frequently < usually < very often
    < almost always < always
very poor < very bad < poor < bad < fair|average < good < very good < excellent
none < very low < low < medium|moderate|middle|mid|average < high < very high
none < mild < moderate < severe
not at all < not at all important < unimportant|not important < a little|slightly important|a little important
    < somewhat|somewhat important|moderately important|moderately < important|quite|quite a bit
    < very|very important|very much < extremely|extremely important
very unlikely < unlikely < somewhat unlikely < neutral < somewhat likely < likely < very likely
much worse < worse < the same|same < better < much better
small < medium < large
young < middle|middle-aged|middle aged < old
"""

GERMAN = """
nein < weiß nicht < ja
nein < vielleicht < ja
stimme überhaupt nicht zu|stimme gar nicht zu|trifft überhaupt nicht zu|trifft gar nicht zu|lehne stark ab
    < stimme nicht zu|trifft nicht zu|lehne ab
    < stimme eher nicht zu|trifft eher nicht zu|lehne eher ab|trifft weniger zu
    < teils/teils|teils teils|teils, teils|weder noch|weder/noch|neutral|unentschieden|trifft teilweise zu
    < stimme eher zu|trifft eher zu < stimme zu|trifft zu
    < stimme voll zu|stimme völlig zu|stimme voll und ganz zu|stimme stark zu|trifft voll zu|trifft voll und ganz zu
nie|niemals < fast nie < sehr selten < selten < gelegentlich < manchmal < oft|häufig < meistens < sehr oft|sehr häufig
    < fast immer < immer
sehr unzufrieden < unzufrieden < eher unzufrieden < teils/teils|weder noch|neutral < eher zufrieden < zufrieden
    < sehr zufrieden
sehr schlecht < schlecht < eher schlecht < mittelmäßig|mittel|teils/teils < eher gut < gut < sehr gut
    < ausgezeichnet|hervorragend
ungenügend < mangelhaft < ausreichend < befriedigend < gut < sehr gut
keine < sehr niedrig|sehr gering < niedrig|gering < mittel < hoch < sehr hoch
gar nicht|überhaupt nicht < wenig|kaum < etwas|mäßig|mittelmäßig < ziemlich < stark|sehr < sehr stark|außerordentlich
völlig unwichtig|überhaupt nicht wichtig < unwichtig|nicht wichtig < eher unwichtig < teils/teils|neutral
    < eher wichtig < wichtig < sehr wichtig
klein < mittel < groß
"""

FRENCH = """
non < ne sait pas < oui
pas du tout d'accord < pas d'accord < plutôt pas d'accord|pas vraiment d'accord
    < ni d'accord ni pas d'accord|ni d'accord, ni pas d'accord|neutre|indécis|sans opinion
    < plutôt d'accord|assez d'accord < d'accord < tout à fait d'accord
jamais < presque jamais < rarement < occasionnellement|de temps en temps < parfois|quelquefois < souvent
    < très souvent < presque toujours < toujours
très insatisfait|pas du tout satisfait < insatisfait|pas satisfait < plutôt insatisfait|plutôt pas satisfait
    < neutre|ni satisfait ni insatisfait < plutôt satisfait|assez satisfait < satisfait < très satisfait
très mauvais|très mauvaise < mauvais|mauvaise < médiocre < moyen|moyenne|passable < assez bon|assez bonne
    < bon|bonne < très bon|très bonne < excellent|excellente
très faible < faible < moyen|moyenne < élevé|élevée|fort|forte < très élevé|très élevée|très fort|très forte
pas du tout < un peu|peu < assez|moyennement < beaucoup < énormément
pas du tout important < peu important|pas important < assez important < important < très important
"""

SPANISH = """
no < no sabe < sí
totalmente en desacuerdo|muy en desacuerdo < en desacuerdo < algo en desacuerdo
    < ni de acuerdo ni en desacuerdo|neutral|indiferente|indeciso < algo de acuerdo < de acuerdo
    < totalmente de acuerdo|muy de acuerdo
nunca < casi nunca < rara vez|raramente|pocas veces < ocasionalmente < a veces|algunas veces
    < a menudo|frecuentemente|con frecuencia < muchas veces|muy a menudo < casi siempre < siempre
muy insatisfecho|muy insatisfecha < insatisfecho|insatisfecha < algo insatisfecho|algo insatisfecha
    < ni satisfecho ni insatisfecho|neutral < algo satisfecho|algo satisfecha < satisfecho|satisfecha
    < muy satisfecho|muy satisfecha
muy malo|muy mala < malo|mala < regular|aceptable < bueno|buena < muy bueno|muy buena < excelente
muy bajo|muy baja < bajo|baja < medio|media < alto|alta < muy alto|muy alta
nada < poco < algo|regular < bastante < mucho < muchísimo
nada importante < poco importante < algo importante < importante|bastante importante < muy importante
"""

ITALIAN = """
no < non so < sì
per niente d'accordo|completamente in disaccordo|fortemente in disaccordo < in disaccordo|non d'accordo
    < poco d'accordo|piuttosto in disaccordo < né d'accordo né in disaccordo|neutrale|indeciso|incerto
    < abbastanza d'accordo|piuttosto d'accordo < d'accordo
    < molto d'accordo < completamente d'accordo|del tutto d'accordo|fortemente d'accordo
mai < quasi mai < raramente < occasionalmente < a volte|qualche volta|talvolta < spesso < molto spesso
    < quasi sempre < sempre
molto insoddisfatto|molto insoddisfatta|per niente soddisfatto < insoddisfatto|insoddisfatta
    < poco soddisfatto|poco soddisfatta < neutrale|né soddisfatto né insoddisfatto
    < abbastanza soddisfatto|abbastanza soddisfatta < soddisfatto|soddisfatta < molto soddisfatto|molto soddisfatta
pessimo|pessima|molto cattivo < cattivo|cattiva|scarso|scarsa < mediocre < sufficiente|discreto|discreta
    < buono|buona < ottimo|ottima|molto buono|molto buona < eccellente
molto basso|molto bassa < basso|bassa < medio|media < alto|alta < molto alto|molto alta
per niente|per nulla < poco < abbastanza < molto < moltissimo
per niente importante < poco importante < abbastanza importante < importante < molto importante
"""

DUTCH = """
nee < weet niet < ja
helemaal mee oneens|zeer mee oneens|helemaal niet mee eens|sterk mee oneens < mee oneens|oneens|niet mee eens
    < enigszins mee oneens|beetje mee oneens
    < neutraal|niet mee eens, niet mee oneens|niet mee eens/niet mee oneens|geen mening
    < enigszins mee eens|beetje mee eens < mee eens|eens < helemaal mee eens|zeer mee eens|sterk mee eens
nooit < bijna nooit < zelden < af en toe < soms < regelmatig < vaak < meestal < heel vaak|zeer vaak < bijna altijd
    < altijd
zeer ontevreden|heel ontevreden < ontevreden < enigszins ontevreden < neutraal|niet tevreden, niet ontevreden
    < enigszins tevreden < tevreden < zeer tevreden|heel tevreden
zeer slecht|heel slecht < slecht < onvoldoende < matig < redelijk|voldoende < goed < zeer goed|heel goed < uitstekend
zeer laag|heel laag < laag < gemiddeld|midden|middel < hoog < zeer hoog|heel hoog
helemaal niet < weinig|een beetje < enigszins < redelijk|tamelijk < veel|sterk < heel veel|zeer sterk
helemaal niet belangrijk|zeer onbelangrijk < onbelangrijk|niet belangrijk < enigszins belangrijk|neutraal
    < belangrijk < zeer belangrijk|heel belangrijk
klein < middel|middelgroot < groot
"""

PORTUGUESE = """
não < não sabe < sim
discordo totalmente|discordo fortemente < discordo < discordo parcialmente|discordo em parte
    < não concordo nem discordo|nem concordo nem discordo|neutro|indeciso|indiferente
    < concordo parcialmente|concordo em parte < concordo < concordo totalmente|concordo fortemente
nunca < quase nunca < raramente < ocasionalmente < às vezes|por vezes|algumas vezes
    < frequentemente|muitas vezes|com frequência < muito frequentemente < quase sempre < sempre
muito insatisfeito|muito insatisfeita < insatisfeito|insatisfeita < pouco satisfeito|pouco satisfeita
    < neutro|nem satisfeito nem insatisfeito < satisfeito|satisfeita < muito satisfeito|muito satisfeita
péssimo|péssima|muito mau|muito má|muito ruim < mau|má|ruim < regular|razoável < bom|boa < muito bom|muito boa
    < ótimo|ótima|excelente
muito baixo|muito baixa < baixo|baixa < médio|média < alto|alta < muito alto|muito alta
nada < pouco < mais ou menos|moderadamente < bastante|muito < muitíssimo|extremamente
nada importante < pouco importante < importante < muito importante
"""

SCALES = "\n".join(own.strip("\n") for own in (ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, DUTCH, PORTUGUESE))
"""From low to high; an indented line goes on with the scale above. Words with a bar between them are not told apart."""


def _plain(text: str) -> str:
    """Small letters without accents, one form of apostrophe, and single blanks: how people really type."""
    bare = unicodedata.normalize("NFKD", text.casefold().replace("\u2019", "'").replace("ß", "ss"))
    return " ".join("".join(c for c in bare if not unicodedata.combining(c)).split())


_RANKS: tuple[dict[str, int], ...] = tuple(
    {_plain(word): rank for rank, words in enumerate(scale.split(" < ")) for word in words.split("|")}
    for scale in SCALES.replace("\n    ", " ").splitlines()
)


def scale_order(states: Sequence[State]) -> list[int] | None:
    """Order the states of a variable by a well-known scale.

    Scales of agreement, frequency, satisfaction, quality, amount and importance in English, German, French, Spanish,
    Italian, Dutch and Portuguese are known. Capitals and accents do not count.

    Examples
    --------
    >>> scale_order(["Agree", "Disagree", "Strongly agree"])
    [1, 0, 2]
    >>> scale_order(["oft", "nie", "manchmal"])
    [1, 2, 0]
    >>> scale_order(["Agree", "Disagree", "Banana"]) is None
    True
    """
    if len(states) < 2 or not all(isinstance(s, str) for s in states):
        return None
    words = [_plain(str(s)) for s in states]
    orders = set()
    for ranks in _RANKS:
        found = [ranks.get(word, -1) for word in words]
        if min(found) >= 0 and len(set(found)) == len(found):
            orders.add(tuple(sorted(range(len(found)), key=found.__getitem__)))
    # Where two scales disagree, as "molto" may, nothing is guessed.
    return list(orders.pop()) if len(orders) == 1 else None

"""Whether a sentence is English, as far as its small words and letters show."""

import re

from actors.demands.patterns import word_set

WORDS_MIN = 4
"""Words of a sentence below which its language cannot be told."""
LATIN_END = 0x24F
SCRIPT_SHARE = 0.3
"""Share of letters beyond the Latin ones above which a sentence is in another script."""

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_ENGLISH = word_set(
    "the and is are was of to for with that this it not be we have has should when on by from as which must does",
    "after if our my they can all but at every don't doesn't can't in an a i you or no do so will would please need",
    "only any than then there their its into more up out use add make sure keep never without before until",
)
_OTHERS = word_set(
    "der die das und ist nicht ein eine einen einer dem den mit auf für wir wird werden soll sollen sollte von zu",
    "zum zur bei beim sich sind mehr auch nach wenn dass oder kein keine haben muss müssen darf dürfen können unser",
    "unsere unseren ich mein meine geht nur über aus noch vom im viel bis sie es ohne durch bitte wie als am",
    "war alle diese dieser le la les des une un est et dans pour pas ne qui avec sur du nous il faut au aux ce",
    "cette quand depuis doit doivent que sont leur notre mais être elle je ma mes où lors fait trop vous",
    "votre el los las una es y del para por se cuando está hay sus su más como queremos debe deben pero",
    "al nuestra nuestro mi muy han quiero lo modo después desde todos por favor gli di che è non sono della nel",
    "alla deve quello anche più dal questo dei delle si e os uma não com que é do da ao em quando são nossa nosso",
    "pela pelo das dos você het een niet en op te voor dat zijn worden moet wij naar ook deze geen wordt",
    "kan onze nie jest się na że jak dla musi och att det som är inte på har ska ikke og skal må",
)
_AMBIGUOUS = word_set(
    """
    die war am in on an a no me do as was can han also so es e y
    """
)
_LETTERS = re.compile(r"[äöüßéèàçêîôûœñáíóú¿¡ãõåøłęąśżźćčšž]")


def is_foreign(written: str) -> bool | None:
    """Tell whether a sentence is in another language than English; None where it is too short to tell."""
    letters = [sign for sign in written if sign.isalpha()]
    if len(letters) >= 4 and sum(ord(sign) > LATIN_END for sign in letters) > SCRIPT_SHARE * len(letters):
        return True
    words = _WORD.findall(written.lower())
    if len(words) < WORDS_MIN:
        return None
    english = sum(word in _ENGLISH for word in words)
    others = sum(word in _OTHERS and word not in _AMBIGUOUS for word in words)
    marked = sum(1 for word in words if _LETTERS.search(word))
    return others + marked > max(english, 1) or (english == 0 and others + marked > 1)

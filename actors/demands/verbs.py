"""Lists of English words, which help to recognise verbs, nouns and texts in other languages."""


def word_set(*lines: str) -> frozenset[str]:
    """Return the set of the words in several lines."""
    return frozenset(word for line in lines for word in line.split())


PLAIN_VERBS = word_set(
    "accept acknowledge add adjust adopt agree allow append apply approve arrange assert assign attach avoid be become",
    "bring cancel choose commit complete compute configure consider contain continue convert decide decommission",
    "decrease dedupe define delete deliver deny describe determine disable disallow discard discuss display distribute",
    "document downgrade emit enable encode encrypt enforce ensure examine execute expand explain expose extend extract",
    "fetch find forbid fulfil fulfill gather get give go guarantee handle have hide hold honor honour ignore implement",
    "improve inform insert inspect install instrument keep leave let limit lower maintain make manage measure mention",
    "obtain omit overwrite parse pass perform persist prefer prefill prepare present preserve prevent prohibit protect",
    "prove provide provision purge put read rebuild receive recommend reconnect record recover redact redirect",
    "refactor refresh refuse reject rely remain remember remind remove rename render repair replace require resend",
    "resolve respect respond restore restrict retain retire retry return reuse reverse revert rework rewrite roll say",
    "see select send serve set shorten show shrink skip solve sort speed split spread start stay stick stop store",
    "streamline strengthen structure submit suggest support suppress survive suspend swap take teach tell throttle",
    "tidy tighten transform transmit treat trim turn undo unify uninstall upgrade upload use vendor wrap write",
)
"""Base forms of verbs that are rarely nouns at the beginning of a sentence."""
NOUN_VERBS = word_set(
    "address aim alert align archive ask audit author back backport ban batch benchmark bill bind block budget build",
    "bump bundle cache call cap capture chain change charge check chunk clean clear clone close collect combine come",
    "comment compare compile confirm connect contact control copy correct count cover cut cycle default defer delay",
    "deploy design detect develop double draft drain draw drive drop dump edit email embed escape export factor fail",
    "fall file fill filter fix flag follow force format forward frame freeze gate group guard guide hand highlight",
    "host import increase index inject invite issue join label launch lead lift link list load lock log look mail map",
    "mark mask match merge mirror mock monitor mount move name note offer open order outline override own page pair",
    "patch pay phase pick pin place plan plug point poll port post price print process profile project prompt propose",
    "prune pull push query question queue quote raise range rank rate reach recall recycle register release reply",
    "report request research reserve reset restart review reward round route rule run save scale scan schedule scope",
    "score screen script seal search secure segment share shift ship shut sign signal size slice source space stage",
    "state stream strip stub study style supply surface survey switch sync tag target test time title total touch",
    "trace track train transfer transition transport trigger try tune type unit view wait walk warn watch work zero",
)
"""Base forms of verbs that are also nouns. Such a verb begins an instruction only if an object follows."""
VERB_ENDINGS = ("ise", "ize", "ify", "ate", "uce", "uct", "ude", "ish")
"""Endings of words. Most longer words with such an ending are verbs, such as "create" and "notify"."""
OBJECT_WORDS = word_set(
    "a about across after against all also an and another any anything around as at away back before between both by",
    "current dead down each either every everything existing fewer first five for four from her him his how if in",
    "instead into it its just last less me more multiple my never new no not nothing off old on one only onto other",
    "others our out over several six so some something such ten than that the their them these this those three",
    "through to two under until unused up us via what when where whether which who why with without your",
)
"""Words that begin the object of a verb, or that often follow a verb."""
AUXILIARIES = word_set(
    "am appears are aren't became belongs blocks breaks broke came can can't cannot causes comes contains could",
    "couldn't crashes creates depends did didn't does doesn't drops eats ends exceeds exits fails freezes froze gave",
    "generates gets gives goes got grew grows had hadn't hangs happens has hasn't have help hung ignores includes",
    "introduces is isn't keeps kept lasts leads leaks led looks loses lost made makes may might must mustn't need",
    "needs produced produces raises reads reduces remains reports returns runs said says seems sends sent shall should",
    "shouldn't shows starts stays stops takes threw throws times took updates uses validates verifies was wasn't went",
    "were weren't will won't works would wouldn't writes wrote",
)
"""Finite verbs. A sentence is a statement if it has such a verb near its beginning and outside a subordinate clause."""
CLAUSE_WORDS = word_set(
    "after and as because before but for he how i if it once or she since so than that they unless until we what when",
    "whenever where wherever whether which while who whose why you",
)
"""Words that begin a subordinate clause or another part of a sentence. The verb after such a word is not the main
verb."""
COMPLEMENT_VERBS = word_set(
    "assert check confirm consider decide document ensure explain find guarantee make note prove remember say see show",
    "tell verify",
)
"""Verbs that take a clause as their object, as in "ensure it works"."""
_NOUNS = word_set(
    "copies displays documents extracts finds gets handles inserts limits measures permits prompts purchases purges",
    "puts reads records repairs replays replies retires retries says sees sets shows starts stays sticks stores",
    "structures substitutes supplements supports takes tells turns updates upgrades uploads uses wraps writes",
)
THIRD_PERSON = (
    frozenset(
        verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeou" else verb + "s" for verb in PLAIN_VERBS
    )
    | frozenset(verb + "es" for verb in PLAIN_VERBS if verb.endswith(("s", "x", "ch", "sh")))
) - _NOUNS
"""The forms of the plain verbs in the third person singular, such as "adds". Forms that are also plurals of nouns are
left out."""
ENGLISH = word_set(
    "a add after all an and any are as at be before but by can can't do does doesn't don't every for from has have i",
    "if in into is it its keep make more must my need never no not of on only or our out please should so sure than",
    "that the their then there they this to until up use was we when which will with without would you",
)
OTHER_LANGUAGES = word_set(
    "alla alle att auch auf aux avec bei bis bitte ce cette che com como da dans darf das dass dat debe del della dem",
    "den der des det deze di die doit du durch een ein eine einen el em est está et faut für gli haben het ich ikke il",
    "inte ist jak jest kein keine la las le les leur los mit moet muss más müssen na nach nel nicht nie niet non nous",
    "nur não o och oder og ohne op os para pas pero por pour på que queremos qui se sich sind się skal soll som sono",
    "sont su sur são uma un una und une unser von voor wenn werden wie wij wir wird zijn zu zum är è über że",
)
"""Frequent words of other European languages that are not English words."""

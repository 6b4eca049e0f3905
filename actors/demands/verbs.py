"""English words by which the reader tells verbs from nouns, and English from other languages."""


def word_set(*lines: str) -> frozenset[str]:
    """Return the words of some lines as a set."""
    return frozenset(word for line in lines for word in line.split())


PLAIN_VERBS = word_set(
    "accept acknowledge activate adapt add adjust adopt aggregate agree allocate allow amend announce anonymise",
    "anonymize anticipate append apply approve arrange assert assess assign attach attend augment authenticate",
    "authorise authorize automate avoid bake be become begin bring calculate calibrate cancel centralise centralize",
    "choose cite clarify classify commit complete comply compose compute concentrate conduct configure conform",
    "consider consolidate contain containerise containerize continue convert coordinate create customise customize",
    "debug decide declare decommission decouple decrease decrypt dedupe deduplicate define delegate delete deliver",
    "demonstrate deny deprecate derive describe detach determine diagnose disable disallow discard disconnect discuss",
    "dispatch display distinguish distribute divide document downgrade educate elaborate eliminate emit employ enable",
    "encapsulate encode encrypt enforce enlarge enrich ensure equip erase escalate establish evaluate examine exclude",
    "execute expand expedite expire explain explore expose extend extract facilitate fetch finalise finalize find",
    "finish forbid formalise formalize fulfil fulfill gather generate get give go guarantee handle harden harmonise",
    "harmonize have hide hold honor honour identify ignore illustrate implement impose improve include incorporate",
    "infer inform inline insert inspect install instruct instrument integrate intercept introduce invalidate",
    "investigate isolate iterate justify keep learn leave let limit localise localize locate loosen lower maintain",
    "make manage measure mention migrate minimise minimize mitigate modernise modernize modify multiply negotiate",
    "normalise normalize notify obey obfuscate obtain offload omit onboard optimise optimize organise organize",
    "outsource overhaul oversee overwrite paginate parallelise parallelize parse partition pass perform permit",
    "persist pinpoint prefer prefill preload prepare present preserve prevent prioritise prioritize produce prohibit",
    "promote propagate protect prove provide provision publish purchase purge pursue put quantify quarantine",
    "rationalise read rebalance rebuild recalculate receive recommend recompile recompute reconcile reconfigure",
    "reconnect record recover recreate redact redeploy redesign redirect redo reduce refactor refine reformat refresh",
    "refuse regenerate reimplement reindex reinforce reinstall reject relabel relax relocate rely remain remember",
    "remind remove rename render reopen reorganise reorganize repair rephrase replace replay repopulate reproduce",
    "requeue require rerun reschedule resend resolve respect respond restore restrict resync retain retest rethink",
    "retire retrain retry return reuse reverse revert revise revisit revoke reword rework rewrite roll rotate",
    "sanitise sanitize satisfy say see seek select send separate serialise serialize serve set settle shorten show",
    "shrink simplify simulate skip smooth solve sort specify speed split spread stabilise stabilize standardise",
    "standardize start stay stick stop store streamline strengthen structure submit substitute suggest summarise",
    "summarize supplement support suppress survive suspend sustain swap synchronise synchronize tackle tailor take",
    "teach tear tell terminate throttle tidy tighten toggle tokenise tokenize transform translate transmit treat trim",
    "troubleshoot truncate turn unblock undo unify uninstall unlock unpin untangle update upgrade upload use utilise",
    "utilize validate vendor verify vet withdraw withhold wrap write yank",
)
"""Base forms that are hardly used as nouns at the beginning of a sentence."""
NOUN_VERBS = word_set(
    "address aim alert align archive ask audit author back backfill backport balance ban batch benchmark bill bind",
    "block blocklist boost bound branch breach bridge budget build bump bundle cache call cap capture chain change",
    "charge check chunk clean clear clone close collapse collect color colour combine come comment compare compile",
    "compress confirm connect contact control copy correct count cover crawl credit crop cut cycle debounce default",
    "defer delay deploy design detect develop double draft drain draw drive drop dump duplicate echo edit email embed",
    "escape estimate exempt export factor fail fall feed file fill filter fire fix flag flatten follow force fork",
    "format forward frame freeze gate grant group guard guide hand harvest hash help highlight hit hook host import",
    "increase index inject interview invite issue join judge kick kill label launch lead lift link list load lock log",
    "look loop mail map mark mask match merge mirror mock monitor mount move mute name narrow nest note offer open",
    "order outline override own pack page paint pair park patch pay phase pick pilot pin pitch place plan plug point",
    "polish poll pool port post price print process profile project promise prompt propose prune pull push query",
    "question queue quote raise range rank rate reach recall recycle register release reply report request research",
    "reserve reset resize restart review reward round route rule run sample save scale scan schedule scope score",
    "screen script scrub seal search secure segment shard share shift ship shut sign signal silence size sketch slice",
    "source space spend spin stage state stream strip stub study style sum supply surface survey switch sync tag",
    "target test thank time title total touch trace track train transfer transition transport trigger try tune type",
    "unit view visit vote wait walk warn watch weigh whitelist wire work zero zip",
)
"""Base forms that are nouns too: an instruction only before a word that begins an object."""
OBJECT_WORDS = word_set(
    "a about across after against all also an and another any anything around as at away back before between both by",
    "current dead down each either every everything existing fewer first five for four from her him his how if in",
    "instead into it its just last less me more multiple my never new no not nothing off old on one only onto other",
    "others our out over several six so some something such ten than that the their them these this those three",
    "through to two under until unused up us via what when where whether which who why with without your",
)
"""Words that begin an object, or follow a verb."""
AUXILIARIES = word_set(
    "am appears are aren't became belongs blocks breaks broke came can can't cannot causes comes contains could",
    "couldn't crashes depends did didn't does doesn't drops eats ends exceeds exits fails freezes froze gave gets",
    "gives goes got grew grows had hadn't hangs happens has hasn't have help hung ignores is isn't keeps kept lasts",
    "leads leaks led looks loses lost made makes may might must mustn't need needs produced produces raises reads",
    "remains reports returns runs said says seems sends sent shall should shouldn't shows starts stays stops takes",
    "threw throws times took uses was wasn't went were weren't will won't works would wouldn't writes wrote",
)
"""Finite verbs: one of them early in a sentence, outside a clause, makes it a statement."""
CLAUSE_WORDS = word_set(
    "after and as because before but for he how i if it once or she since so than that they unless until we what when",
    "whenever where wherever whether which while who whose why you",
)
"""Words after which a verb belongs to a clause, or to a part that is joined on."""
COMPLEMENT_VERBS = word_set(
    "assert check confirm consider decide document ensure explain find guarantee make note prove remember say see",
    "show tell verify",
)
"""Verbs that take a whole statement: "make sure it works"."""
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
"""Third persons of the plain verbs that are no plural of a noun."""
ENGLISH = word_set(
    "a add after all an and any are as at be before but by can can't do does doesn't don't every for from has have i",
    "if in into is it its keep make more must my need never no not of on only or our out please should so sure than",
    "that the their then there they this to until up use was we when which will with without would you",
)
"""Frequent English words."""
OTHER_LANGUAGES = word_set(
    "al alla alle als anche ao att au auch auf aus aux avec bei beim bis bitte ce cette che com como cuando da dal",
    "dans darf das dass dat debe deben dei del della delle dem den depuis der des desde después det deve deze di",
    "diese dieser dla doit doivent dos du durch dürfen een ein eine einen einer el elle em en est está et fait faut",
    "favor für geen geht gli haben har hay het ich ikke il im inte ist jak je jest kan kein keine können la las le",
    "les leur lo lors los ma mais mehr mein meine mes mi mit modo moet musi muss muy más må müssen na naar nach ne",
    "nel nicht nie niet noch non nossa nosso notre nous nuestra nuestro nur não och oder og ohne onze ook op os où",
    "para pas pela pelo pero più por pour på quand quando que quello queremos questo qui quiero se si sich sie sind",
    "się ska skal soll sollen sollte som sono sont su sur sus são te todos trop uma un una und une unser unsere",
    "unseren viel você vom von voor votre vous wenn werden wie wij wir wird worden wordt zijn zu zum zur är è é être",
    "über że",
)
"""Frequent words of other European languages that are no English words."""

"""Verbs of instructions in English texts about software, and the words that tell them from nouns."""

from actors.demands.patterns import word_set

PLAIN_VERBS = word_set(
    "accept add adopt allow anonymise anonymize append apply assert assign attach avoid be become bring choose",
    "compute consider contain create decide decommission decrease dedupe define delete deliver deny deprecate",
    "describe determine disallow discard discuss eliminate emit encode encrypt enforce ensure establish evaluate",
    "exclude expose extend extract fetch finish forbid generate get give go guarantee handle have honor honour",
    "identify ignore implement improve include inform inline insert install introduce invalidate investigate keep",
    "leave let loosen lower maintain make mention migrate minimise minimize modernise modernize modify notify obey",
    "omit overwrite parse pass persist prefer preserve prevent produce prohibit propagate protect prove provide",
    "publish put read rebuild receive recommend record redact redirect reduce refactor refuse reject relax remain",
    "remember remove rename render reorganise reorganize replace require respect respond restore restrict retain",
    "retire retry return reuse revert rewrite rotate sanitise sanitize say see send separate serialise serialize",
    "serve set shorten show shrink simplify skip solve specify spread start stay stick stop store support suppress",
    "survive swap take teach tell tighten treat turn unify uninstall use utilise utilize validate verify write yank",
    "agree arrange attend avoid bake begin coordinate configure consolidate convert decouple deduplicate delegate",
    "disable display distinguish document downgrade enable encapsulate erase expire explain find hide hold",
    "integrate isolate limit localise localize maintain measure normalise normalize obfuscate optimise optimize",
    "organise organize paginate parallelise parallelize prepare present prioritise prioritize provision purge",
    "quarantine rationalise reconcile recreate refresh reimplement rely reproduce resolve roll sort speed split",
    "standardise standardize stabilise stabilize streamline submit summarise summarize synchronise synchronize",
    "throttle tokenise tokenize translate trim truncate unblock update upgrade vendor wrap",
    "acknowledge activate adapt adjust aggregate allocate amend announce anticipate approve assess augment",
    "authenticate",
    "authorise authorize automate calculate calibrate cancel centralise centralize cite clarify classify commit",
    "complete",
    "comply compose comply concentrate conduct conform containerise containerize continue customise customize debug",
    "declare decrypt demonstrate derive detach diagnose disconnect dispatch distribute divide educate elaborate employ",
    "enlarge enrich equip escalate examine execute expand expedite explore facilitate finalise finalize formalise",
    "formalize fulfil fulfill gather harden harmonise harmonize illustrate impose incorporate infer inspect instruct",
    "instrument intercept iterate justify learn locate manage mitigate multiply negotiate obtain offload onboard",
    "outsource overhaul oversee partition perform permit pinpoint prefill preload promote purchase pursue quantify",
    "rebalance recalculate recompile recompute reconfigure reconnect recover redeploy redesign redo refine reformat",
    "regenerate reindex reinforce reinstall relabel relocate remind reopen repair replay rephrase repopulate requeue",
    "rerun reschedule resend resync retest rethink retrain reverse revise revisit revoke reword rework satisfy",
    "seek select",
    "settle simulate smooth strengthen structure substitute suggest supplement suspend sustain tackle tailor",
    "tear terminate tidy toggle transform transmit troubleshoot undo unify unlock unpin untangle upload vet",
    "withdraw withhold",
)
"""Base forms that are hardly used as nouns at the beginning of a sentence."""
NOUN_VERBS = word_set(
    "aim mail email notify page address alert align archive ask audit author back backfill backport batch",
    "benchmark bind block bound build",
    "bump bundle cache call cap change check clean clear clone close collapse collect combine comment compare",
    "compile compress confirm connect control copy correct count cover cut cycle debounce default defer deploy",
    "design detect develop draft drain drop dump duplicate echo edit embed escape estimate export factor fail fall",
    "fetch file fill filter fire fix flag flatten follow format forward freeze gate group guard hash help highlight",
    "import increase index inject invite issue label launch lift link list load lock log look map mark mask match",
    "merge mirror mock monitor move mute name narrow note open order pack park patch pick pin place plan point poll",
    "pool port post print process profile project prompt propose prune pull push queue raise rank rate raise reach",
    "release report request reserve reset resize restart review round route run sample save scale scan schedule",
    "scope scrub seal search secure shift ship sign silence size stage state stream strip surface switch sync tag",
    "target test time touch trace track transfer trigger try tune type unit view wait walk warn watch weigh",
    "whitelist work zero",
    "paint draw print colour color come balance ban bill blocklist boost branch breach bridge budget capture",
    "chain charge chunk contact crawl credit crop",
    "delay double drive exempt feed fork force frame grant guide hand harvest hit hook host interview join",
    "judge kick kill",
    "lead loop mount nest offer outline override own pair pay phase pilot pitch plug polish price promise query",
    "question",
    "quote range recall recycle register reply research reward rule score screen script segment settle shard",
    "share shut",
    "signal sketch slice source space spend spin stub study style sum supply survey thank title total train transition",
    "transport visit vote wire zip",
)
"""Base forms that are nouns too: an instruction only before a word that begins an object."""
OBJECT_WORDS = word_set(
    "a an the this that these those all any both each every either no some such another other others our your my",
    "their its his her it them us me him everything anything nothing something what which who whether how why when",
    "where if only just at by for from in into off on onto out over through to under until up via with without",
    "down back away after before against as between more less fewer and one two three four five six ten multiple",
    "several existing new old current unused dead first last not never also so about around across than instead",
)
"""Words that begin an object, or follow a verb."""
AUXILIARIES = word_set(
    "have need help",
    "is are was were am isn't aren't wasn't weren't has had hasn't hadn't does did doesn't didn't can could will",
    "would won't wouldn't can't cannot couldn't should shouldn't must mustn't shall may might seems looks appears",
    "went came got gets became takes took fails returns shows throws threw hangs hung",
    "crashes works causes breaks broke leads led makes made gives gave uses stops ",
    "happens lasts needs contains starts runs ends ignores drops loses lost keeps kept times goes comes",
    "says said sends sent reads writes wrote produces produced freezes froze leaks blocks exits",
    "raises reports exceeds grows grew stays remains belongs depends eats",
)
"""Finite verbs: one of them early in a sentence, outside a clause, makes it a statement."""
CLAUSE_WORDS = word_set(
    """
    that which who whose what when where whenever wherever while why how whether if because since so until
    unless after before once as than it they we he she you i and or but for
    """
)
"""Words after which a verb belongs to a clause, or to a part that is joined on."""
COMPLEMENT_VERBS = word_set(
    """
    make ensure check verify see note guarantee confirm prove remember assert decide find consider explain say
    tell document show
    """
)
"""Verbs that take a whole statement: "make sure it works", "check the log shows the id"."""
_NOUNS = word_set(
    "uses reads writes shows sets puts starts turns takes stores limits updates upgrades displays measures documents",
    "extracts handles finds inserts prompts records supports wraps gets says sees tells purges retires stays sticks",
    "retries replies copies purchases permits substitutes supplements uploads repairs structures replays",
)
THIRD_PERSON = (
    frozenset(
        verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeou" else verb + "s" for verb in PLAIN_VERBS
    )
    | frozenset(verb + "es" for verb in PLAIN_VERBS if verb.endswith(("s", "x", "ch", "sh")))
) - _NOUNS
"""Third persons of the plain verbs that are no plural of a noun."""

"""The kind of a demand by its words. Pure."""

from actors.demands.dates import DATE
from actors.demands.instructions import instructs
from actors.demands.patterns import DATES, NEEDLESS, NO_NOUN, any_of, late, spelled
from actors.values.requirements import RequirementKind

_COUNT = r"(?:\d[\d.,]*|half an?|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_MONEY = (
    r"(?:[$€£] ?\d|\b\d[\d.,]*k\b|\d[\d.,]* ?k? ?(?:€|\$|£|usd\b|eur\b|euros?\b|dollars?\b|pounds\b|quid\b|bucks\b"
    r"|chf\b|aud\b"
    r"|francs\b|crowns\b))"
)
_HANDS = (
    r"(?:engineers?|developers?|devs|people|persons?|contractors?|consultants?|translators?|testers?|designers?"
    r"|students?"
    r"|photographers?|editors?|volunteers?|colleagues?|hands|[\w-]*man|[\w-]*men|positions?)"
)
_SPAN = r"(?:hours?|days?|weeks?|months?|sprints?|years?)"
COSTS = any_of(
    r"\bbudget(?:s|ed)?\b(?! (?:alert|page|report|module|service|app|table|field|view|feature|owner|line\b(?! \w+s)))",
    r"\b(?:person|man|engineer|developer|dev)[- ]?(?:days?|weeks?|months?|hours?)\b|\bstory points?\b|\bhead ?count\b",
    rf"\b(?:costs?|spend|spending|afford|pay|invest|expenses?|bill|at most|no more than|less than|under|below|up to|max"
    rf"|maximum|exceed|capped|limit(?:ed)?|within|allows?|grants?|fee|price of|come to|'ve got|has got|there(?:'s"
    rf"| is| are))"
    rf"\b.{{0,40}}?{_MONEY}",
    rf"{_MONEY} ?(?:a|per|/) ?(?:month|year|mo|week|head)\b"
    rf"|{_MONEY}.{{0,30}}\b(?:max(?:imum)?|tops|at most|in total|total|all in|available|left|per head|not more"
    rf"|no more)\b",
    r"\bmoney for\b|\bno (?:more |further )?(?:money|funds|funding)\b|\bper head max",
    rf"\bwe (?:only )?(?:have|'ve got) (?:only |just |about |roughly |exactly )?{_COUNT}(?: \w+)? (?:{_HANDS}"
    rf"|{_SPAN})\b(?! (?:of|ago|\w+ing|who|that)\b)",
    rf"\b{_COUNT}(?: [\w-]+)? {_HANDS} (?:is|are|can|will be|available|on (?:it|this|site))\b"
    rf"|\b{_COUNT}(?: [\w-]+)? {_HANDS}(?:,| for) {_COUNT} {_SPAN}\b",
    rf"^[^,;:]{{1,40}} (?:has|have|is given|gets?|can (?:give|spend)|may spend) {_COUNT} {_SPAN}\b(?! ago)",
)
"""What may be spent: money, people or time."""
AVAILABLE = late(
    r"\bbudget\b|\b(?:we|i)(?: only)? (?:have|get)\b|'ve got\b|\b(?:is|are) (?:available|left)\b"
    r"|\bthere(?:'s| is| are| will be)\b|^[^,;:]{1,40} (?:has|can|may|allows?|come to) "
)
"""Words that say of a sum or a time that it may be spent, where a sentence has a verb."""
_DATED = late(
    r"\bdeadline\b|\bdue (?:by|on|date|next|this|in|at)\b|\basap\b|\bas soon as possible\b"
    r"|\bno later than\b|\burgent(?:ly)?\b|\b(?:by|before|until|till|no later than|not later than"
    r"|latest(?: by)?|at the latest|in time for|ahead of|not before|not until|starting|as of|from) "
    + DATE
    + r"|\b(?:ship|merge|deploy|release|finish|deliver|needs?|want|wanted|done|finished|ready|live|shipped|merged"
    r"|deployed|released|completed?|out"
    r"|delivered|in production|over|available|needed|fixed|answer|close|closed|migrated"
    r"|rolled out)\b[^.]{0,40}\b(?:today|tonight|tomorrow|this (?:week|month|quarter|sprint|year)"
    r"|next (?:week|month|quarter|sprint)|within (?:\w+ ){1,3}(?:days?|weeks?|months?|hours?)|(?:on|by"
    r"|in) "
    + DATE
    + r")|\bend of (?:the |this |next )?(?:week|month|quarter|year|sprint|day)\b|\b(?:eod|eow|eom|eoy)\b"
)
_DATE_ONLY = any_of(
    r"\bdeadline\b",
    r"\bdue (?:by|on|date|next|this|in|at)\b",
    r"\basap\b",
    r"\bas soon as possible\b",
    r"^(?:please )?(?:no later than|by|before|until|due|asap|urgent|not before|not until|latest)\b[^,]*$",
    (
        r"\b(?:this|it|that|all of (?:this|it|that)|all|everything|the (?:\w+ )?(?:work|fix|change|migration"
        r"|project|release|rollout|whole thing|cutover|job|task|move|switch|upgrade|patch|update|feature"
        r"|result)) (?:all )?(?:must|has to|have to|needs? to|should|shall|will|is to|is|are|can) (?:all "
        r"|also |to )?(?:not )?(?:be )?(?:be |happen|start|begin|go|land|done|finish|complete|finished"
        r"|completed|ready|live|shipped|in production|merged|deployed|released|delivered|over|out|available"
        r"|needed|wanted|fixed|required|closed|rolled out|due|in)\b"
    ),
    (
        r"\b(?:need|want|needs|wants|expect) (?:this|it|that|the (?:fix|change|result)|everything"
        r"|all of (?:this|it))\b"
    ),
)
_ONLY = late(r"^(?:please )?only (?!.{60})(?!.*\b(?:may|must|can|should)\b)|^[^,;:]{1,30} only[.!]*$")
"""What is restricted to a part."""
_REASON = late(r"(?<=.{12})(?:\W+so that\b|,? because\b|, since\b|, as (?:it|we|they|the)\b|, which\b).*")
"""Why something is asked for: its words do not say what."""
_FORBIDS = any_of(
    r"\b(?:must|may|shall|should|ought)(?: not|n't| never| no longer| under no)\b",
    r"\bmust never\b",
    r"\bnever (?:be )?(?=\w)",
    r"\b(?:do not|don't|dont|donot)\b",
    r"\bavoid\b",
    (
        r"\b(?:is|are) (?:strictly |absolutely |explicitly )?(?:forbidden|prohibited|unacceptable|(?:not|no"
        r"|never) (?:an |to be )?(?:allowed|permitted|acceptable|option|possible|negotiable|tolerated|to|\w+ed))\b"
    ),
    r"\bunder no circumstances?\b",
    r"\bno[- ]?go\b",
    r"\boff[- ]limits\b",
    r"\bout of the question\b",
    r"\boff the table\b",
    r"\b(?:cannot|can't|can not|won't|will not)\b",
    r"^no \w+",
    r"\b(?:no|nothing|nobody|none|neither)\b.{1,60}\b(?:may|must|should|shall|can|is to|are to)\b",
    r"^without \w+",
    r"^(?:nothing|nobody|no one|none)\b",
    r"^not \w+",
    r"\binstead of\b",
    r"\brather than\b",
    r"\bmustn't\b",
    r"\b(?:forbids?|prohibits?|refrain|stop|exclude)\b",
    r"\bhands off\b",
)
_PROHIBITION = late(
    r"\b(?:must|may|shall|should|ought)(?: not|n't| never| no longer)\b|\bnever\b|\b(?:do not|don't"
    r"|dont)\b|^(?:please )?(?:avoid|stop|no|refrain)\b|\bunder no circumstances?\b|\b(?:cannot|can't)\b"
    r"|\b(?:forbidden|prohibited|not allowed|not permitted)\b"
)
_KEEPS = any_of(
    (
        r"\b(?:must|has to|have to|needs? to|should|shall|may|to|will|can) (?:all |still |also |continue to "
        r"|always )*(?:still|stay|remain|keep|continue|survive|be (?:kept(?! for)|preserved|left|maintained"
        r"|(?:fully |backwards? )?.?compatible|untouched|unchanged|unaffected|reversible))\b"
    ),
    (
        r"(?:^|[,;:] |\b(?:and|but|please|to|always) )(?:keep|leave|preserve|retain|maintain|respect|honou?r"
        r"|stay|stick) "
    ),
    r"\b(?:stays?|remains?|untouched|unchanged|unmodified)\b|^(?!.*\bkeep(?:ing)? (?:track|an eye)).*\bkeeps? "
    r"(?:its?|their|the|his|her|all|every|working|on)\b|\b(?:continues?|(?:go|goes) on) (?:to (?!be \w+ed)|in|as|under"
    r"|\w+ing)|\bas (?:(?:it|they) (?:is|are|does|do)|before|(?:today|now|usual)[.!]*$)|\b(?:do|does) not change\b"
    r"|\bthe same \w+(?: \w+){0,4} as\b|\bidentical (?:to|before)\b|\bleft alone\b",
    r"\bbackwards?[- ]compatib",
    (
        r"\b(?:must|may|should|shall|can)(?: not|n't| never|not) (?:be )?(?:change|alter|break|touch|affect"
        r"|modify|changed|altered|broken|touched|affected|modified|disturb|disturbed|interrupted)\b"
    ),
    r"\bnothing (?:\S+ ){0,5}(?:may|must|should|can) (?:change|break)\b",
    (
        r"\b(?:do not|don't|never) (?:change|break|touch|alter|modify|edit|affect|move|rename|mess with"
        r"|disturb)\b"
    ),
    r"\bhands off\b",
    r"\b(?:has|have|must|needs?|should) (?:to )?be (?:exactly |bit.for.bit )?(?:the same|identical|unchanged)\b",
    r"\bwithout (?:breaking|changing|altering|touching|affecting)\b",
)


DATED_WORDS_MAX = 8
"""Words of a demand with a date up to which the date is what it says."""


def requirement_kind(small: str, default: RequirementKind = RequirementKind.GOAL) -> RequirementKind:
    """Return the kind of a demand by its words; `default` where they show none but that something is asked for."""
    small = _REASON.sub("", spelled(small))
    if NEEDLESS.search(small) or _ONLY.search(small):
        return RequirementKind.SCOPE
    if _KEEPS.search(small):
        return RequirementKind.MUST_KEEP
    if DATES.search(small):
        return RequirementKind.DEADLINE
    dated, costs = _DATED.search(small), COSTS.search(small)
    if dated and (_DATE_ONLY.search(small) or len(small.split()) <= DATED_WORDS_MAX) and not _FORBIDS.search(small):
        return RequirementKind.DEADLINE
    if costs:
        return RequirementKind.BUDGET
    if NO_NOUN.match(small):
        return RequirementKind.MUST_AVOID
    if _FORBIDS.search(small) and (_PROHIBITION.search(small) or not instructs(small)):
        return RequirementKind.MUST_AVOID
    return default

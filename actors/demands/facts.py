"""Patterns of English wordings that tell how things are, what others said, or greet. Lower case."""

from actors.demands.words import any_of

_ABOUT = (
    r"(?:about |around |roughly |nearly |almost |approximately |some |over |more than |up to |between |at least |only "
    r"|just |another |well over |close to |like )*"
)
_COUNT = (
    r"(?:(?:\d[\d.,]*|an?|one|two|three|four|five|six|seven|eight|nine|ten|half an?|several|many|a few|a couple of) ?"
    r"(?:to \d+ |or \w+ |[-\u2013] ?\d+ )?(?:ms|s|min|h|seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?)\b"
    r"|too (?:long|much|many)|ages\b|forever\b|hours\b|days\b|weeks\b|months\b|minutes\b|long\b)"
)
_GROUP = (
    r"(?:customers?|users?|clients?|people|visitors?|prospects?|partners?|readers?|subscribers?|tenants?|patients?"
    r"|students?|parents?|teachers?|drivers?|members?|guests?|buyers?|players?|competitors?)"
)
_OTHERS = (
    r"(?:scans?|audits?|auditors?|pentest(?:er)?s?|tests?|profiling|profiler|reports?|analysis|reviews?|reviewers?"
    r"|researchers?|customers?|users?|vendors?|colleagues?|surveys?|measurements?|metrics|benchmarks?|logs?|he|she|they"
    r"|someone|somebody|people|experts?|consultants?|articles?|blog posts?|papers?)"
)

GREETING = any_of(
    r"^(?:(?:please|pls|plz|kindly|thanks?|thx|cheers|so|very|much|a lot)[ ,.!]*)+$",
    r"^(?:(?:and|so|then|anyway),? )?(?:have|enjoy|wishing you|wish you|i wish you) (?:you )?(?:all )?(?:a "
    r"|an |your |the"
    r" |some )?(?:very |really )?(?:nice|great|good|lovely|wonderful|fun|relaxing|pleasant|happy|safe|quiet|rest of"
    r"|weekend|day|evening|holiday|vacation|christmas|trip|flight|lunch)\b",
    r"^(?:take care|stay (?:safe|healthy|tuned|well)|keep well|get well|be well|talk (?:to you )?(?:soon|later)|see you"
    r"|see ya|catch you|speak soon|many thanks|(?:best|kind|warm) (?:regards|wishes)|all the best|happy (?:new year"
    r"|holidays|friday|monday|easter|birthday)|merry christmas|congrat\w*|welcome|good (?:morning|afternoon|evening|job"
    r"|work|luck)|well done|great (?:job|work)|nice work|keep up|(?:i'm|i am|i'll be|i will be|we're|he's"
    r"|she's|they're) (?:still |now )?(?:on (?:vacation|holiday|leave)|away|out of|off"
    r"|ooo|back|travell?ing)|(?:i )?hope (?:you|this|all|everyone|everything)"
    r"|(?:i'm |i am |we are |we're )?looking forward)\b",
)
"""A sentence of politeness."""
TOLD_BY_OTHERS = any_of(
    rf"\b{_OTHERS} (?:also |recently |already |just )?(?:found|shows?|showed|reveal(?:s|ed)?|discovered|noticed"
    r"|complain(?:s|ed)?|claim(?:s|ed)?|thinks?|thought|believe[sd]?|argue[sd]?|reported|confirm(?:s|ed)?"
    r"|mention(?:s|ed)?"
    r"|wrote|replied|told|said|says)(?: out)?(?: to us| us)?(?: that\b|,|:)[^;]*",
    r"\b(?:was|were|am|are|been|got) (?:also |just |already )?told\b[^;]*",
    r"\b(?:i|we) (?:think|believe|guess) (?:that )?(?:it|this|that) (?:must|should|has to) be\b",
    r"\b(?:the|an?) (?:[\w-]+ )?(?:app|importer|tool|library|package|driver|build|browser|installer|script|plugin|page"
    r"|form|dialog|wizard|compiler|website) (?:now |also |always |still )?(?:asks?|wants?|expects?"
    r"|requires?) (?!that\b)",
    rf"\b{_GROUP} (?:often |sometimes |also |keep |keep on |frequently |regularly |always |now |then |already "
    rf"|have been "
    r"|are |still |all )*(?:ask(?:s|ing|ed)?|complain(?:s|ing|ed)?|wonder(?:s|ing|ed)?)"
    r" (?:us |me |support )*(?:for|about|if|whether|why|when|how|that|support)?\b[^;,]*",
    r"\b(?:find|know|see|understand|get|tell|guess|say|pick|buy|click) what (?:they|you|we|users|people|customers)"
    r" (?:need|want)s?\b",
    r"(?<=[a-z:,] )[\"\u201c][^\"\u201c\u201d]{12,300}[\"\u201d]",
)
"""What somebody else said, found or asks for."""
FACT = any_of(
    rf"^(?!.*\b(?:may|must|should|shall|can|could|at most|no more than|budget)\b).*\bcosts? (?:(?:us|them|me"
    rf"|you|(?:the|our) \w+) )?{_ABOUT}"
    r"(?:[$€£] ?)?\d",
    rf"\b(?:takes?|lasts?|needs?) (?:us |me |them |you )?{_ABOUT}{_COUNT}(?!.*\b(?:at most|or less|max)\b)",
    rf"^(?!.*\b(?:at most|at least|max|or less|budget)\b).*\b(?:has|have|is|are|runs?|run on"
    rf"|comes? with) {_ABOUT}\d[\d.,]* ?(?:[kmgt]i?b|ghz|mhz|cores?|cpus?|vcpus?|gpus?"
    r"|nodes?|rows|users|customers|tenants|employees|lines|files|tables|inch|servers?|tb|repositories|services)\b",
    r"\b(?:something|has (?:an? )?|have (?:an? )?|offers? (?:an? )?) ?(?:similar|comparable)\b|\b(?:does|do"
    r"|has|have|offers?) (?:that|this|it|the same) (?:too|already|as well)\b",
    r"\b(?:is|are) (?:stored|kept|located|hosted|deployed|saved|written|held) (?:in|on|at|with) (?:the |an? |our )?"
    r"(?:existing|same|current|old|legacy)\b",
    r"\b(?:is|are) (?:closed|open|away|on holiday|on vacation) (?:until|till|from|on|again)\b",
    rf"\b(?:gets?|receives?|has|have|sees?|handles?) {_ABOUT}\d[\d.,]*k? (?:[\w-]+ ){{1,3}}(?:a|an|per|each|every)"
    r" (?:day|week|month|hour|year|minute|night)\b",
    r"\b(?:has|have|contains?|holds?|stores?) (?:about |around |over |more than |nearly "
    r"|roughly )?\d[\d.,]* (?:million|billion|thousand)\b",
    r"\d ?(?:%|percent)? of (?:the |our |all )?[\w -]{1,40} (?:fail|crash|time out|are|were|come|get|have|use"
    r"|do|hang)\b",
    r"^(?:it|this|that|which) (?:only |also |always |sometimes |often )?(?:fails|happens|occurs|crashes|hangs"
    r"|breaks)\b",
    r"^[\w -]{1,40}s (?:of [\w -]{1,30} )?(?:fail|crash|hang|time out|arrive|disappear|vanish|overlap|flicker)\b",
    r"\breturns? (?:an? |http )*5\d\d\b",
    r"^(?:[\w-]+ ){1,3}(?:comes?|stems?|originates?) from\b",
    r"^(?:rolled back|reverted|restarted|rebooted|tried|checked|noticed|happened|reported|seen|started|found"
    r"|looked|asked"
    r"|turned|switched|paused|scaled|deployed|moved|fixed|mitigated|confirmed|verified|tested|talked|spoke|went|got|had"
    r"|saw|ran|built|broke|bumped|merged|pushed|killed|drained|raised|opened|filed)\b"
    r"(?! (?:by|on|in|at|to|when|if|only) [\w ]{1,30}\b(?:must|should)\b)",
    rf"^(?:only|just) {_ABOUT}(?:\d[\d.,]* ?(?:%|percent\b)|(?:\d[\d.,]*|one|two|three|half|a third|a quarter"
    rf"|few|some|most"
    rf"|a few|a handful|a fraction|a minority) (?:of|out of|in)\b|(?:a few|few|some|\d[\d.,]*|two|three) {_GROUP}\b)",
    r", which (?:is|are|was|takes?|costs?|means?|makes?|leads?|causes?|explains?)\b",
)
"""How things are: no demand, whatever it stands beside, unless a modal verb asks for it."""

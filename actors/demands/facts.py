"""Patterns of English wordings that tell how things are, what others said or meant, or greet. Lower case."""

from actors.demands.patterns import any_of, late

_ABOUT = (
    r"(?:about |around |roughly |nearly |almost |approximately |some |over |more than |up to |between "
    r"|at least |only "
    r"|just |another |well over |close to |like )*"
)
_COUNT = (
    r"(?:(?:\d[\d.,]*|an?|one|two|three|four|five|six|seven|eight|nine|ten|half an?|several|many|a few|a couple of) ?"
    r"(?:to \d+ |or \w+ |[-\u2013] ?\d+ )?(?:ms|s|min|h|seconds?|minutes?|hours?|days?|nights?|weeks?|months?"
    r"|years?)\b"
    r"|too (?:long|much|many)|ages\b|forever\b|hours\b|days\b|weeks\b|months\b|minutes\b|long\b)"
)
_GROUP = (
    r"(?:customers?|users?|clients?|people|visitors?|prospects?|partners?|readers?|subscribers?|tenants?|patients?"
    r"|students?|parents?|teachers?|drivers?|members?|guests?|buyers?|players?|competitors?)"
)
_OTHERS = (
    r"(?:scans?|audits?|auditors?|pentest(?:er)?s?|tests?|profiling|profiler|reports?|analysis|reviews?|reviewers?"
    r"|researchers?|customers?|users?|vendors?|colleagues?|surveys?|measurements?|metrics|benchmarks?|logs?"
    r"|he|she|they"
    r"|someone|somebody|people|experts?|consultants?|articles?|blog posts?|papers?)"
)
GREETING = any_of(
    r"^(?:(?:any |more )?(?:opinions?|thoughts|ideas|feedback|comments|help|suggestions?)(?: (?:is|are))? (?:very "
    r"|most )?"
    r"(?:welcome|appreciated)|(?:ok |so |and |well )*(?:what|how|why|when|where|who) (?:do|does|did|is|are) )",
    r"^(?:(?:please|pls|plz|kindly|thanks?|thx|cheers|so|very|much|a lot)[ ,.!]*)+$",
    r"^(?:i'?m |i am |we'?re |we are )?happy to (?:help|provide|send|open|contribute|test|share|discuss|answer)\b",
    r"^(?:(?:and|so|then|anyway),? )?(?:have|enjoy|wishing you|wish you|i wish you) (?:you )?(?:all )?(?:a "
    r"|an |your |the"
    r" |some )?(?:very |really )?(?:nice|great|good|lovely|wonderful|fun|relaxing|pleasant|happy|safe|quiet|rest of"
    r"|weekend|day|evening|holiday|vacation|christmas|trip|flight|lunch)\b",
    r"^(?:take care|stay (?:safe|healthy|tuned|well)|keep well|get well|be well|talk (?:to you )?(?:soon"
    r"|later)|see you"
    r"|see ya|catch you|speak soon|many thanks|(?:yours?,?|with|best|kind|warm|warmest|kindest) (?:(?:best|kind|warm"
    r"|many) )?(?:regards|wishes|greetings|sincerely|faithfully|truly)|thank you|thanks|thx|cheers|sorry"
    r"|all the best|happy (?:new year"
    r"|holidays|friday|monday|easter|birthday)|merry christmas|congrat\w*|welcome|good (?:morning|afternoon"
    r"|evening|job"
    r"|work|luck)|well done|great (?:job|work)|nice work|keep up|(?:i'm|i am|i'll be|i will be|we're|he's"
    r"|she's|they're) (?:still |now )?(?:on (?:vacation|holiday|leave)|away|out of|off"
    r"|ooo|back|travell?ing)|(?:i )?hope (?:you|this|all|everyone|everything)"
    r"|(?:i'm |i am |we are |we're )?looking forward)\b",
)
"""A sentence of politeness."""
TOLD_BY_OTHERS = any_of(
    rf"\b{_OTHERS} (?:also |recently |already |just )?(?:shows?|reveals?|thinks?|believes?|argues?|confirms?|says)"
    r"(?: out)?(?: to us| us)?(?: that\b|,|:)[^;]*",
    r"(?:^|; )(?!.*\b(?:asked|as discussed|we agreed)\b)(?:[^,;:]{1,60} )??(?!(?:i|we|be|is|are|been|being|gets?|to"
    r"|must|should|shall) )[\w.'-]+ "
    r"(?:also |recently |already |just |all |even )?(?:found|showed|revealed|discovered|noticed|complain(?:s|ed)"
    r"|claim(?:s|ed)|thought|argued|reported|mentioned|wrote|replied|told|said|phoned|pointed out|warn(?:s|ed)"
    r"|acknowledged|reckon(?:s|ed)?|swears?)\b(?! (?:by|in the|with) [^;]*\b(?:must|shall)\b)[^;]*",
    r"\b(?:was|were|am|are|been|got) (?:also |just |already )?told\b[^;]*",
    r"\b(?:i|we) (?:think|believe|guess) (?:that )?(?:it|this|that) (?:must|should|has to) be\b",
    r"\b(?:the|an?|our|my) (?:[\w-]+ )?(?:app|importer|tool|library|package|driver|build|browser|installer"
    r"|script|plugin|page"
    r"|form|dialog|wizard|compiler|website) (?:now |also |always |still |only )?(?:asks?|wants?|expects?"
    r"|requires?) (?!that\b)",
    rf"\b{_GROUP} (?:often |sometimes |also |keep |keep on |frequently |regularly |always |now |then |already "
    rf"|have been "
    r"|are |still |all )*(?:ask(?:s|ing|ed)?|complain(?:s|ing|ed)?|wonder(?:s|ing|ed)?)"
    r" (?:us |me |support )*(?:for|about|if|whether|why|when|how|that|support)?\b[^;,]*",
    r"\b(?:find|know|see|understand|get|tell|guess|say|pick|buy|click) what (?:they|you|we|users|people|customers)"
    r" (?:need|want)s?\b",
    r"(?:^|(?<=[a-z:,] ))[\"\u201c][^\"\u201c\u201d]{12,300}[\"\u201d]",
)
"""What somebody else said, found or asks for."""
FACT = any_of(
    rf"^(?!.*\b(?:may|must|should|shall|can|could|at most|no more than|budget)\b).*\bcosts? (?:(?:us|them|me"
    rf"|you|(?:the|our) \w+) )?{_ABOUT}"
    r"(?:[$€£] ?)?\d",
    rf"(?<!may )(?<!can )\b(?:takes?|lasts?|needs?) (?:us |me |them |you )?{_ABOUT}{_COUNT}(?!.*\b(?:at most"
    rf"|or less|max)\b)",
    rf"^(?!.*\b(?:at most|at least|max|or less|budget|default|limit)\b).*\b(?:has|have|is|are|runs?|run on"
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
    r"^[\w -]{1,40}s (?:of [\w -]{1,30} )?(?:fail|crash|hang|time out|arrive|disappear|vanish|overlap"
    r"|flicker)\b(?! on\b| after \d)",
    r"\breturns? (?:an? |http )*5\d\d\b",
    r"^(?:[\w-]+ ){1,3}(?:comes?|stems?|originates?) from\b",
    r"^(?:rolled back|reverted|restarted|rebooted|tried|checked|noticed|happened|reported|seen|started|found"
    r"|looked|asked"
    r"|turned|switched|paused|scaled|deployed|moved|fixed|mitigated|confirmed|verified|tested|talked|spoke"
    r"|went|got|had"
    r"|saw|ran|built|broke|bumped|merged|pushed|killed|drained|raised|opened|filed)\b"
    r"(?! (?:by|on|in|at|to|when|if|only) [\w ]{1,30}\b(?:must|should)\b)",
    rf"^(?:only|just) {_ABOUT}(?:\d[\d.,]* ?(?:%|percent\b)|(?:\d[\d.,]*|one|two|three|half|a third|a quarter"
    rf"|few|some|most"
    rf"|a few|a handful|a fraction|a minority) (?:of|out of|in)\b|(?:a few|few|some|\d[\d.,]*|two|three) {_GROUP}\b)",
    r"^\d+ of (?:them|those|these)\b",
    r", which (?:is|are|was|takes?|costs?|means?|makes?|leads?|causes?|explains?)\b",
)
"""How things are: no demand, whatever it stands beside, unless a modal verb asks for it."""
NOT_ASKED = any_of(
    (
        r"\b(?:should|must|could|would|might|may|ought to) (?:already |really |never |not |probably |only "
        r"|all )*have (?:been\b|\w+ed\b|gone|done|seen|caught|had|got|made|taken|known|come|run|sent)"
    ),
    r"\b(?:shouldn't|mustn't|couldn't|wouldn't) have \w+",
    (
        r"\b(?:should|shouldn't|should not|must|ought to)(?: probably| really| all)? be (?:too |very |quite "
        r"|fairly |pretty |really |relatively |that )?(?:easy|easier|hard|difficult|simple|straightforward"
        r"|obvious|trivial|okay|ok|fine|clear|doable|safe to assume|familiar|enough information"
        r"|self.explanatory|a (?:small|quick|simple|one|two).*|self explanatory|the same (?:problem|bug"
        r"|issue))\b"
    ),
    (
        r"\b(?:this|it|that|there|problem|cause|bug|issue|culprit|he|she) must (?:have|be (?:because|due"
        r"|related|caused|coming|something|some|a (?:\w+ )?(?:race|bug|regression|problem|issue|leak|typo"
        r"|deadlock|coincidence|mistake|caching)|the (?:cause|reason|problem|same)))\b"
    ),
    (
        r"\b(?:i|we) (?:must|should|have to|need to|want to|would like to|wanted to|just want to) (?:admit|say"
        r"|add that|mention|note|confess|thank|apologi[sz]e|stress|point out|be honest|warn|start by|ask|know"
        r"|understand|be missing)\b"
    ),
    (
        r"\b(?:you|one) (?:should|will|must|need to|have to) (?:now |then |first |also )?(?:see|notice|get"
        r"|observe|wait|click|open|log|have|scroll|restart|be (?:able to )?(?:see|reproduc)\w*)\b"
    ),
    (
        r"\b(?:not sure|unsure|wonder(?:ing)?|no idea|don't know|do not know|unclear|undecided|debat\w+"
        r"|discuss\w*|think about|argu\w+|arguments?|question is|asked|decide) (?:if|whether|about whether"
        r"|what|how|why|when|which|who)\b[^.]*"
    ),
    (
        r"\b(?:docs?|documentation|readme|manual|error(?: message)?|message|log|logs|wiki|tooltip|changelog"
        r"|faq|man page|comment|spec|it|which|stack ?overflow|ui|dialog|banner|screen|page|button"
        r"|label)s? (?:says?|said|states?|stated|tells?|told|claims?|claimed|suggests?|suggested|mentions?"
        r"|reads?|promises?|promised|warns?)\b[^,;]*"
    ),
    r"\baccording to (?:the )?(?:docs?|documentation|readme|manual)\b",
    r"\b(?:would|might|may|could|will|'ll) (?:then |also |probably |still |even )?(?:have|need) to\b",
    r"\b(?:had|having) to\b",
    r"\bused to\b",
    (
        r"\b(?:needed|wanted|was supposed|were supposed|was meant|intended|was expected|were expected"
        r"|was going|were going|tried|hoped|failed|seems?|seemed|appears?) to\b"
    ),
    r"\bas (?:it|they|one|you) (?:should|must|would)\b",
    r"\bthan (?:it|they|we|i) (?:should|must|need|want)\b",
    (
        r"\bif (?:you|we|i|they|it|someone|anyone|anybody|users?|customers?) (?:want|wants|need|needs|must"
        r"|should|have|has|would like)\b(?! to be\b)(?![^,]*,)"
    ),
    r"\bwhat (?:(?:it|they|you|users?|customers?) (?:should|must|want|need)s?|(?:i|we) (?:should"
    r"|must))\b(?=.*\b(?:is|are|was)\b)",
    r"\b(?:no|not a) (?:rush|hurry|worries|problem at all)\b",
    (
        r"\bwant(?:s|ed)? to (?:know|understand|see (?:why|how|whether|if)|ask|check|say|thank|raise"
        r"|point|share|discuss|talk|report)\b"
    ),
    r"\bneeds? to (?:know|understand|be (?:discussed|seen|said))\b",
    r"\blet (?:me|us) know\b",
    (
        r"\bfeel free\b|\bdon't hesitate\b|\b(?:please )?(?:just )?(?:call|contact|ping|reach|ask|tell|mail"
        r"|email|correct) (?:out to )?me\b|\bget in touch\b"
    ),
    (
        r"\bplease (?:let me|find attached|see (?:the )?(?:attach\w*|below|above|here|log|screenshot)"
        r"|find (?:the )?(?:attach|below)|excuse|forgive|advise|ignore (?:the )?(?:typo|my))\b"
    ),
    (
        r"\bsee (?:attached|below|above|also|here|screenshot|the (?:log|trace|screenshot|attach\w+|linked"
        r"|docs?|documentation|graph|dashboard|thread))\b"
    ),
    r"\bthanks?\b(?:.{0,30}$| (?:for|in advance|a lot|so much))",
    r"\bthank you\b",
    r"^(?:that|this|it|which)(?:'d| would) (?:really |also )?(?:be|help|make) (?!.*\b(?:if|to|when)\b)[^,]{0,40}$",
    r"\bhappy to (?:help|provide|send|open|contribute|test|share|discuss|answer)\b",
    r"\bnothing (?:needs to be done|to (?:do|add|see))\b|\bkeep up the\b|\bfirst post\b|\bsorry (?:if|for)\b",
    r"\b(?:i|we) (?:suspect|guess|assume|fear|doubt)\b[^,;]*",
    r"\bglad to\b|\b(?:don't|do not|wouldn't) mind\b",
    r"\bi can (?:provide|send|share|open|help|test)\b",
    r"^let me \w+",
    r"^take a look\b",
    r"^have a look\b",
    r"^note that (?:this|the|it|we) (?:is|was|happens|only)\b",
    r"^(?:look|looking) (?:at|into|like)\b",
    r"^given that\b",
    r"\b(?:that's|that is|this is) (?:because|why)\b.*",
    r"^say (?:i|we|you|a|that)\b",
    r"^(?:suppose|imagine|assume|assuming|consider) (?:i|we|you|a|an|the|that|two|three)\b",
)
BURDEN = any_of(
    (
        r"\b(?:i|we|you|they|users?|customers?|people|everyone|everybody|developers?|admins?|support"
        r"|operators?|editors?|nurses?|teams?|colleagues|somebody|someone|agents|clients?|accountants?"
        r"|one) (?:now |still |always |currently |then |often |usually |all |first |constantly |also "
        r"|even )*(?:has|have|need|needs|must) to\b(?! (?:be able|leave|move|migrate|replace|switch|upgrade"
        r"|get off)\b)"
    ),
)
BURDENED = any_of(
    (
        r"\b(?:every (?:time|day|night|week|morning|single|month|release|few|deploy|other)|each (?:time|day"
        r"|night|week|morning|month|release)|manually|by hand|currently|today|at the moment|right now|nowadays"
        r"|always|again|still|twice|otherwise|because|(?:so|then) (?:we|i|they|users|people|customers)|which means"
        r"|this means|meaning|that's why|as a result|workaround|until now|at present|several times"
        r"|constantly)\b"
    ),
)
NARRATED = any_of(
    (
        r"^(?:yesterday|last (?:week|month|year|night|friday|monday|tuesday|wednesday|thursday|saturday|sunday"
        r"|quarter|sprint)|since|in (?:january|february|march|april|may|june|july|august|september|october"
        r"|november|december)\b|on (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b.*\b(?:was"
        r"|were|had|did)|currently|today|right now|at the moment|at present|until now|so far|previously"
        r"|in (?:most|many|some|all|\w+ out of \w+) cases|most of the time|usually|often|sometimes|normally"
        r"|in the past|nowadays|as of now|these days)\b"
    ),
)
EXISTING = late(r"^(?:the |our )?(?:current|present|legacy|today's) (?:\w+ ){1,4}(?:is|are|has|have|does|\w+s) ")
PAST = late(
    r"\b(?:was|were|had|did|didn't|wasn't|weren't|went|came|got|became|broke|saw|ago)\b"
    r"|\b(?:i|we|they|he|she|it|who|has|have|already|just) (?:found|noticed|happened|started|failed|expired"
    r"|tried|told"
    r"|asked|said)\b|\b(?:has|have) (?:already |now |just )?(?!to\b)(?:\w+ed|gone|grown|been|become|risen"
    r"|fallen)\b|\bhappened\b|\bsince (?:the|we|i|it|last|yesterday|then|this|upgrading|updating)\b"
)
FAULTS = late(
    r"\b(?:bugs?|crash(?:es)?|leaks?|errors?|problems?|failures?|fails?|timeouts?|regressions?|slow|flaky"
    r"|wrong|broken"
    r"|outages?)\b"
)
"""Words for what is wrong with a thing."""
CLAUSE = late(r"\b(?:when|if|that|which|who|whose|where|until|after|before|once|unless)\b.*")
"""A subordinate clause: the tense of its verb says nothing about when the main clause holds."""
NOW = late(r"\b(?:currently|today|at present|at the moment|right now|so far|nowadays)\b")
GREETS = late(
    r"^(?:ok|okay|so|hi|hey|hello|well|we|i|they|it|there|you|he|she|love|playing|using|running|seen"
    r"|thanks|thx|cheers|regards|best|dear)\b"
)

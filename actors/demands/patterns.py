"""Patterns of English wordings, for one sentence of lower-case text: what asks, what only seems to, what reports."""

import re

from actors.demands.dates import DATE
from actors.demands.words import any_of

POLITE = any_of(
    (
        r"(?:^|[,;:.!-] |\b(?:and|but|so|also|then|ok|hi|hey|hello|team|all|folks) )(?:can|could|would"
        r"|will) (?:you|we|someone|somebody|anyone|anybody|it|the \w+|this|i)\b(?! (?:think|know|confirm this"
        r"|have any))"
    ),
    (
        r"\b(?:would it be possible|would you mind|can you please|could you please|mind (?:adding|changing"
        r"|fixing|removing|making))\b"
    ),
    r"\bplease\b[^?]*\?",
)
ASKS = re.compile(r"\?[\"')\]*_`]*$")
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
        r"\bwant(?:s|ed)? to (?:know|understand|see (?:why|how|whether|if)|ask|find out|check|say|thank|raise"
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
    r"^say (?:i|we|you|a|that)\b",
    r"^(?:suppose|imagine|assume|assuming|consider) (?:i|we|you|a|an|the|that|two|three)\b",
)
BURDEN = any_of(
    (
        r"\b(?:i|we|you|they|users?|customers?|people|everyone|everybody|developers?|admins?|support"
        r"|operators?|editors?|nurses?|teams?|colleagues|somebody|someone|agents|clients?|accountants?"
        r"|one) (?:now |still |always |currently |then |often |usually |all |first |constantly |also "
        r"|even )*(?:has|have|need|needs|must) to\b"
    ),
)
BURDENED = any_of(
    (
        r"\b(?:every (?:time|day|night|week|morning|single|month|release|few|deploy|other)|each (?:time|day"
        r"|night|week|morning|month|release)|manually|by hand|currently|today|at the moment|right now|nowadays"
        r"|always|again|still|twice|otherwise|because|so (?:we|i|they|users|people|customers)|which means"
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
EXISTING = re.compile(r"^(?:the |our )?(?:current|present|legacy|today's) (?:\w+ ){1,4}(?:is|are|has|have|does|\w+s) ")
NEED = (
    r"(?:absolutely |really |definitely |also |still |always |only |all |both |at least |ideally |now "
    r"|then |therefore |never |either |each |simply |just |first |instead |at minimum |not |please )*"
)
STRICT = any_of(
    r"\b(?:must|shall|mustn't|mustnt|shan't)\b(?! have\b(?! (?:a|an|the|at|no|one|two|its|their|all|exactly)\b))",
    r"\bplease\b",
    r"\bmak(?:e|ing) sure\b",
    (
        r"\b(?:is|are|be) (?:strictly |absolutely |explicitly |also |not |no longer |never |only |to be )*"
        r"(?:required|mandatory|forbidden|prohibited|allowed|permitted|acceptable|negotiable|obligatory|tolerated)\b"
        r"(?! (?:to (?:run|build|reproduce|install|start)|by (?:the|our) (?:library|package|driver)))"
    ),
    r"\bunder no circumstances?\b|\bat all costs?\b|\bno matter what\b",
    r"\bno[- ]?go\b|\boff[- ]limits\b|\bout of the question\b|\boff the table\b|\bhands off\b",
    r"\bnot (?:an|really an) option\b|\b(?:is|are) no option\b|\bnot up for (?:debate|discussion)\b",
    rf"\b(?:needs?|has|have|ought|got) {NEED}to\b",
    r"\b(?:is|are) to be\b|\b(?:is|are) not to\b",
    r"\b(?:out of|not in|not part of (?:the|this)) scope\b|\bnon-?goal\b",
    r"\bnot part of this (?:ticket|task|issue|work|change|project|story|pr|request)\b",
    r"\bdeadline\b|\bno later than\b|\basap\b|\bas soon as possible\b",
    r"\bdue (?:by|on|date|next|this|in|at|monday|tuesday|wednesday|thursday|friday)\b",
    (
        r"\b(?:may|might|can|could|should|would) (?:not|under no|never|only) (?:be )?(?=(?:exceed|chang|touch|alter"
        r"|modif|break|broken|los[et]|leak|expos|log\b|logg|stor|rely|depend|introduc|requir|slow|block|delet|remov"
        r"|interrupt|drop))"
    ),
    r"\bmay (?:not|never|only|at most|no longer)\b|\b(?:may|can) \w+ (?:at most|no more than|up to|only)\b",
    (
        r"\b(?:no|nothing|nobody|none|no one|not (?:a|one) (?:single )?\w+|no \w+|no \w+ \w+"
        r"|neither \w+) (?:of \w+ \w+ )?"
        r"(?:may|must|should|shall|can (?:be lost|change|be changed)|is to|are to|needs to)\b"
    ),
    r"^only (?:[\w'-]+ ){1,6}?(?:may|must|should|can|shall|are allowed|is allowed)\b",
    (
        r"\b(?:it is|it's|is) (?:very |really |absolutely |also )?(?:important|essential|crucial|critical|vital"
        r"|imperative|paramount|key|necessary|mandatory)(?: (?:to us|for us))? (?:that|to|not to)\b"
    ),
    (
        r"\b(?:our|the|a) (?:\w+ )?(?:requirement|constraint|goal|aim|target|objective|limit|condition|slo|budget"
        r"|acceptance criterion)s? (?:\w+ )?(?:is|are|remains?|:)"
    ),
)
CANNOT = any_of(
    (
        r"\b(?:we|you|i|they) (?:really |also |simply |absolutely )?(?:cannot|can't|can not|won't|will not"
        r"|couldn't) (?:(?:just|simply|possibly|ever|also|really|only|even|and will not|and won't"
        r"|go on) )*(?:afford|change|chang|take|lose|upgrade|downgrade|touch|break|modify|migrate|move|switch"
        r"|drop|remove|raise|increase|replace|rewrite|wait|ship|go (?:over|above|back|down|beyond|offline)"
        r"|roll|rely|store|send|add|introduce|install|deploy|restart|stop|block|risk|expose|hire|spend"
        r"|have (?:any|a|more|down)|accept|allow|require|rename|pause|interrupt|miss|delay|share|publish|host"
        r"|give up|force|ask|turn|shut|disable|buy|extend|postpone|exceed|tolerate|merge before|release before"
        r"|use (?:a |any |the )?(?:cloud|third|external|gpl|new|saas|paid|vendor)|depend|do (?:a|any) (?:big"
        r"|downtime|rewrite)|throw)"
    ),
    (
        r"\b(?:cannot|can't|can not|won't|will not) (?:be|get) (?:altered|changed|edited|modified|touched"
        r"|removed|deleted|renamed|moved|replaced|upgraded|restarted|stopped|rolled|taken (?:down|offline)"
        r"|lost|shared|interrupted|paused|extended|postponed|exceeded|moved|delayed|dropped|skipped|part of"
        r"|missed|down)\b(?!.*\b(?:since|after|anymore|any more|any longer|error|because)\b)"
    ),
    (
        r"\b(?:the|our|this|that|these) (?:[\w-]+ ){1,4}(?:cannot|can't|can not) (?:change|move|slip|break"
        r"|exceed|grow|go down"
        r"|get (?:slower|worse|longer|bigger))\b"
    ),
    r"\b(?:is|are) (?:not a|no) (?:real |good |valid )?(?:solution|choice|answer|fix)\b",
    r"\b(?:just|simply) (?:\w+ing) .{1,60}\b(?:is|are) (?:not|no) ",
    (
        r"\b(?:is|are) (?:not|no longer|no) (?:possible|an option|option|acceptable|feasible|allowed|permitted"
        r"|negotiable|up for)\b(?! (?:to (?:log|save|open|see|click|connect|use|get|start|install|upload"
        r"|download|select|find|enter|reach|reproduce|tell))\b)(?!.*\b(?:since|after|anymore|any more"
        r"|any longer|when)\b)"
    ),
)
WISH = any_of(
    r"\b(?:should|shouldn't|ought to|oughtn't|'d better|had better|better not)\b",
    (
        r"\b(?:i|we|they|you|everyone|everybody|legal|marketing|sales|security|compliance|support|finance"
        r"|management|product|ops|qa|customers?|users?|clients?|teams?|admins?|people|the \w+|the \w+ \w+"
        r"|our \w+|my \w+) (?:all |both |really |still |also |definitely |just |now |only |therefore |do "
        r"|absolutely |urgently )*(?:want|wants|need|needs|require|requires|expect|expects|insist|insists"
        r"|ask that|asks that|demand|demands|ask for|asks for|ask you to|aim|plan to|intend to)\b(?! (?:about "
        r"|around |roughly |up to |over |more than |only |between |two |three |four |five |six |half )?"
        r"(?:\d|(?:weeks?|days?|hours?|months?|minutes?|years?|ages|too|so)\b))"
    ),
    (
        r"\b(?:i|we|they|users|customers|it)(?:'d| would| 'd) (?:really |also |very much |rather |all "
        r"|much )?(?:like|love|prefer|appreciate|expect|rather|need|want|hope|be (?:happy|glad|great))\b"
    ),
    (
        r"\b(?:would|will|'d) be (?:really |very |so |super |extremely |also |more |most |absolutely )*(?:nice"
        r"|great|good|helpful|awesome|useful|ideal|cool|lovely|wonderful|appreciated|welcome|handy|fantastic"
        r"|better|best|perfect|enough|sufficient|fine|excellent)\b"
    ),
    r"\bwould (?:also |really |already |greatly |certainly )?help (?:a lot |us |me )?(?:if|to)\b|\bit helps if\b",
    r"\bit(?:'s| is) (?:fine|ok|okay|enough|sufficient) (?:to|if)\b",
    r"\b(?:is|are) enough\b",
    (
        r"\b(?:i|we) (?:hope|wish|propose|suggest|recommend|request|demand|ask|are looking for|am looking for"
        r"|look for|are asking for|am asking for)\b"
    ),
    r"\b(?:is|are) (?:supposed|expected|meant) to\b",
    r"\blet's\b",
    r"\blet us\b",
    r"\b(?:is|are) (?:wanted|desired|desirable|needed|requested)\b",
    r"\bhas got to\b",
    r"\bnice to have\b",
    r"\bwhat (?:i|we|they) (?:want|need|expect|would like) is\b",
    r"\ball (?:i|we) (?:want|need) is\b",
    r"\b(?:i|we) (?:have|'ve) been asked to\b",
    r"\b(?:i|we) (?:am|are|'m|'re) (?:required|asked|obliged|told) to\b",
    r"\bneed for\b.*\bto\b",
    (
        r"\b(?:the |our |my )?(?:goal|aim|idea|task|objective|target|ask|plan|job|request|intention)(?: here"
        r"| now| of this \w+)? is (?:to|that|for)\b"
    ),
    r"\bexpected(?: behaviou?r| result| output)?: ",
    r"\b(?:feature|change) request\b",
    r"^ideally\b",
    r"\bto be (?:added|removed|fixed|changed|supported|kept|migrated|dropped)\b",
    r"\bwe(?:'ll| will) (?:only )?accept\b",
    r"\b(?:needed|required|wanted|mandatory)[.!]*$",
)
NEEDLESS = any_of(
    (
        r"\b(?:no need (?:to|for)|(?:is|are) not (?:needed|required|necessary|wanted|in scope|part of"
        r"|important)|(?:isn't|aren't) (?:needed|required|necessary|in scope|part of)|(?:do|does|need"
        r"|needs) not (?:need|have) to|(?:don't|doesn't) (?:need|have) to|(?:don't|doesn't|do not"
        r"|does not) (?:care|need|require|want) |needn't|need not|(?:can|may) be (?:ignored|skipped|left out"
        r"|dropped)|can wait|(?:not|isn't|aren't) (?:part of|in) (?:the |this |our )?(?:scope|ticket|task"
        r"|issue|work|change|project|story|pr|request)|out of scope|non-?goal|not a goal|(?:is"
        r"|are) a separate (?:ticket|issue|story|task|project|pr)|(?:handled|done|covered|comes?|tracked"
        r"|follows?) (?:in a |in another |in the |separately|elsewhere|later|next)\w*|leave \w+ for later"
        r"|does not matter|doesn't matter|no longer (?:needed|required))\b"
    ),
)
STAYS = any_of(
    (
        r"\b(?:stays?|remains?) (?:exactly )?(?:as (?:it|they) (?:is|are|does|do)|untouched|intact|(?:fully "
        r"|backwards?.?)?compatible|in place|where (?:it|they) (?:is|are)|alone|off limits|out of (?:it|this)"
        r"|mandatory|supported)\b"
    ),
    r"\b(?:is|are) (?:left|kept) (?:as (?:it|they)|untouched|alone|unchanged)\b",
    r"\b(?:is|are) unchanged(?! (?:since|after|so far|even)\b)",
    r"\b(?:stays|remains) (?:exactly the same|identical)\b|\b(?:stays?|remains?)[.!]*$",
    r"\b(?:stay|remain) (?:exactly )?(?:unchanged|the same|identical|available|valid|green|stable)\b",
)
NO_NOUN = any_of(
    (
        r"^(?:(?:absolutely|also|and|but|plus|definitely|ideally|please,?) )?(?:no|zero|not a single|nothing"
        r"|without) (?!(?:error|errors|idea|clue|luck|response|output|result|results|logs?|stack|stacktrace"
        r"|traceback|exceptions?|warnings?|messages?|problem|problems|answer|reply|effect|success|difference"
        r"|rush|worries|hurry|update|updates|one|way|matter|wonder|doubt|crash|crashes|thanks|need|longer|news"
        r"|trace|sign|entry|entries|indication|feedback|reaction|further (?:information|details|logs|output)"
        r"|other (?:errors|logs|information)|proxy|plugins?|changes? (?:were|was|in|to the config))\b)"
    ),
)
ONLY = re.compile(
    r"^(?:only|exclusively|solely) (?!(?:happens?|affects?|occurs?|seen|when|if|shows?|appears?|after"
    r"|since|on|in|with|for|the (?:first|last)|one of|some|a few|sometimes|reproducible|fails|workaround"
    r"|a restart|restarting|then|now|reproduces|works|crashes|visible)\b)"
)
BY_DATE = re.compile(
    r"^(?!.*\b(?:is|are) (?:open|valid|closed|available|free|away|out|on)\b).*"
    r"\b(?:by|before|until|no later than|from|starting|not before|not until|as of) " + DATE
)
PAST = re.compile(
    r"\b(?:was|were|had|did|didn't|wasn't|weren't|went|came|got|became|broke|saw|ago)\b"
    r"|\b(?:i|we|they|he|she|it|who|has|have|already|just) (?:found|noticed|happened|started|failed|expired|tried|told"
    r"|asked|said)\b|\b(?:has|have) (?:already |now |just )?(?!to\b)(?:\w+ed|gone|grown|been|become|risen"
    r"|fallen)\b|\bhappened\b|\bsince (?:the|we|i|it|last|yesterday|then|this|upgrading|updating)\b"
)
LIMIT = any_of(
    (
        r"\b(?:at most|at least|no more than|not more than|no less than|no fewer than|less than|fewer than"
        r"|more than|under|below|within|up to|max(?:imum|\.)?|min(?:imum|\.)?|not exceed(?:ing)?|exactly"
        r"|no longer than|not longer than|no slower than|no larger than)\b[^.]{0,20}?(?:[$€£]?\d|\b(?:an?|one"
        r"|two|three|four|five|six|seven|eight|nine|ten|twelve|half|\w+teen|\w+ty|zero) )"
    ),
    r"[≤≥<>]=? ?[$€£]?\d",
    r"\b(?:p50|p90|p95|p99)\b",
)
REQUIRES = re.compile(r"^(?!please\b).*\b(?:should|must|shall|needs?|wants?|has to|have to)\b")
"""A sentence that says with a modal verb what something does."""
KEEPS_ON = re.compile(r"\b(?:keeps?|stays?|remains?)\b")
"""A note about what is to stay."""
GREETS = re.compile(
    r"^(?:ok|okay|so|hi|hey|hello|well|we|i|they|it|there|you|he|she|love|playing|using|running|seen"
    r"|thanks|thx|cheers|regards|best|dear)\b"
)
CLAUSE = re.compile(r"\b(?:when|if|that|which|who|whose|where|until|after|before|once|unless)\b.*")
"""A clause, whose verbs say nothing about the time of the sentence."""
BUYS = re.compile(r"\b(?:can|may) be (?:bought|spent|paid|used|hired)\b")
AT_MOST = re.compile(r"\d.*\b(?:at most|max(?:imum)?|tops|at least|or less|or more)[.!]?$")
NOW = re.compile(r"\b(?:currently|today|at present|at the moment|right now|so far|nowadays)\b")
SPECIFIES = re.compile(
    r"^(?:[a-z]+(?= (?:is|are|has|gets?|goes|sees?|stays?|receives?) )|the|a|an|each|every|all|if|when|once"
    r"|after|only|on|for|old|new|at|in"
    r"|with|\w+s|`[^`]+`|[\w-]+ \w+s) [^?]*"
    r"\b(?:(?:is|are|gets?) (?:\w+ly |also |then |always |never |not |only |all )*(?:\w+(?:ed|en|wn|pt)"
    r"|sent|built|set|put|kept|held|read|left|made)\b|stays?|gets|has|have"
    r"|returns?|shows?|contains?"
    r"|keeps?|goes|works?|sends?|stops?|starts?|runs?|lists?|includes?|uses?|takes?|fails?|ends?"
    r"|receives?|says?|counts?)\b"
)
"""A statement that specifies what something does, after a sentence that asks for it."""
EXPLAINS = re.compile(
    r"\b(?:because|since|already|currently|today|now|was|were|had|did|we|our|i|my|me|us|they|depends?"
    r"|reason|otherwise|actually"
    r"|usually|often|sometimes|probably|perhaps|maybe|written in|handles|apparently|unfortunately|think"
    r"|thinks|known|enough"
    r"|fine|used|broken|slow"
    r"|affected|unaffected|hard|easy|wrong|why|means|ago|last|so far|too|anyway|though|however|right now"
    r"|at the moment)\b"
)
"""Words of a statement that gives a reason or tells how things are."""

"""Patterns of English wordings, for one sentence of lower-case text: what asks, what only seems to, what reports."""

import re

from actors.demands.dates import DATE
from actors.demands.tables import any_of

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
        r"|reads?|promises?|promised|warns?)\b"
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
    r"\bwhat (?:it|they|we|i|you|users?|customers?) (?:should|must|want|need)s?\b(?=.*\b(?:is|are|was)\b)",
    r"\b(?:no|not a) (?:rush|hurry|worries|problem at all)\b",
    (
        r"\bwant(?:s|ed)? to (?:know|understand|see (?:why|how|whether|if)|ask|find out|check|say|thank|raise"
        r"|point|share|discuss|talk|report)\b"
    ),
    r"\bneeds? to (?:know|understand|be (?:discussed|seen|said))\b",
    r"\blet (?:me|us) know\b",
    r"\bfeel free\b",
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
    r"\bhappy to (?:help|provide|send|open|contribute|test|share|discuss|answer)\b",
    r"\bglad to\b",
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
        r"|in the past|nowadays|as of now|these days)\b"
    ),
)
NEED = (
    r"(?:absolutely |really |definitely |also |still |always |only |all |both |at least |ideally |now "
    r"|then |therefore |never |either |each |simply |just |first |instead |at minimum |not |please )*"
)
STRICT = re.compile(
    r"\b(?:must|shall|mustn't|mustnt|shan't)\b(?! (?:have\b(?! (?:a|an|the|at|no|one|two|its|their|all|exactly)\b)))"
    r"|\bplease\b|\b(?:make|making) sure\b|\b(?:is|are|be) (?:strictly |absolutely |explicitly |also |not "
    r"|no longer |never |only |to be )*(?:required|mandatory|forbidden|prohibited|allowed|permitted"
    r"|acceptable|negotiable|obligatory|tolerated)\b(?! (?:to (?:run|build|reproduce|install|start)"
    r"|by (?:the|our) (?:library|package|driver)))"
    r"|\bunder no circumstances?\b|\bat all costs?\b|\bno[- ]?go\b|\boff[- ]limits\b"
    r"|\bout of the question\b|\boff the table\b|\bnot (?:an|really an) option\b|\b(?:is|are) no option\b"
    r"|\bnot up for (?:debate|discussion)\b|\bhands off\b|\bno matter what\b"
    r"|\b(?:needs?|has|have|ought) " + NEED + r"to\b|\b(?:is|are) to be\b|\b(?:is|are) not to\b"
    r"|\b(?:out of|not in|not part of (?:the|this)) scope\b|\bnon-?goal\b|\bnot part of this (?:ticket"
    r"|task|issue|work|change|project|story|pr|request)\b"
    r"|\bdeadline\b|\bno later than\b|\bdue (?:by|on|date|next|this|in|at|monday|tuesday|wednesday"
    r"|thursday|friday)\b|\basap\b|\bas soon as possible\b"
    r"|\b(?:may|might|can|could|should|would) (?:not|under no|never|only) (?:be )?(?=(?:exceed|change"
    r"|chang|touch|alter|modif|break|broken|los[et]|leak|expos|log\b|logg|stor|rely|depend|introduc|requir"
    r"|slow|block|delet|remov|interrupt|drop))|\bmay (?:not|never|only|at most|no longer)\b|\b(?:no"
    r"|nothing|nobody|none|no one|no \w+|no \w+ \w+|neither \w+) (?:may|must|should|shall|can (?:be lost"
    r"|change|be changed)|is to|are to|needs to)\b"
    r"|^only (?:[\w'-]+ ){1,6}?(?:may|must|should|can|shall|are allowed|is allowed)\b"
    r"|\b(?:it is|it's|is) (?:very |really |absolutely |also )?(?:important|essential|crucial|critical"
    r"|vital|imperative|paramount|key|necessary|mandatory)(?: (?:to us|for us))? (?:that|to)\b"
    r"|\bthe requirement is\b|\brequirement:|\b(?:our|the|a) (?:\w+ )?(?:requirement|constraint|goal|aim"
    r"|target|objective|limit|condition|slo|budget|acceptance criterion)s? (?:\w+ )?(?:is|are|remains?|:)"
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
        r"|around |roughly |up to |over |more than |only |between )?\d)"
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
    r"\bto be (?:added|removed|fixed|changed|supported|kept|migrated|dropped)\b",
    r"\bwe(?:'ll| will) (?:only )?accept\b",
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
    r"\b(?:stay|remain) (?:unchanged|the same|identical|available|valid|green|stable)\b",
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
BY_DATE = re.compile(r"\b(?:by|before|until|no later than|from|starting|not before|not until|as of) " + DATE)
PAST = re.compile(
    r"\b(?:was|were|had|did|didn't|wasn't|weren't|went|came|got|became|broke|saw|found|noticed|happened"
    r"|started|failed|since|ago|expired|tried|told|asked|said)\b"
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

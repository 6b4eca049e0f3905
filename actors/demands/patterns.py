"""Patterns of English wordings that ask for something, restrict it or date it, for one sentence in lower case."""

import re
from typing import Any, cast

from actors.demands.dates import DATE


def word_set(*lines: str) -> frozenset[str]:
    """Return the words of some lines as a set."""
    return frozenset(word for line in lines for word in line.split())


class _LatePattern:
    """A pattern that is compiled when it is first used."""

    def __init__(self, text: str, flags: int) -> None:
        self._arguments = (text, flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._arguments), name)
        setattr(self, name, value)  # The next look-up finds it without this method.
        return value


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled when it is first used.

    The patterns of this package take 80 ms to compile, and most commands read no text of a user.
    """
    return cast("re.Pattern[str]", _LatePattern(pattern, flags))


def any_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern that matches where one of some patterns does; the first has precedence."""
    return late("|".join(patterns))


def spelled(small: str) -> str:
    """Return a sentence of lower-case text with "is not" for "isn't", so that patterns need one form of it."""
    return small.replace("'ve got", " have").replace("isn't", "is not").replace("aren't", "are not")


_NUMBER = (
    r"(?:[$€£]? ?\d|\b(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|half|zero|once|twice|\w+teen"
    r"|\w+ty)\b)"
)
_LIMITS = (
    r"(?:at (?:the )?most|at least|exactly|precisely|no more than|not more than|no less than|only|up to"
    r"|never more than)"
)
_NOBODY = r"(?:no|nothing|nobody|no one|no-one|none|neither|not (?:a|one)(?: single)?)"
POLITE = any_of(
    (
        r"(?:^|[,;:.!-] |\b(?:and|but|so|also|then|ok|hi|hey|hello|team|all|folks) )(?:can|could|would"
        r"|will) (?:you|u|we|someone|somebody|anyone|anybody|it|the \w+|this|i|an? \w+)\b(?! (?:think|know"
        r"|be (?:that|the|an?|because|due)\b|confirm this"
        r"|have any))"
    ),
    (
        r"\b(?:would it be possible|would you mind|can you please|could you please|mind (?:adding|changing"
        r"|fixing|removing|making))\b"
    ),
    r"\bplease\b[^?]*\?",
)
ASKS = late(r"\?[\"')\]*_`]*$")
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
    r"^as (?:an?|the) [^,:;]{1,60},? (?:i|we) (?:want|would like|need|can|should|must|expect)\b",
    r"\bunder no circumstances?\b|\bat all costs?\b|\bno matter what\b",
    r"\bno[- ]?go\b|\boff[- ]limits\b|\bout of the question\b|\boff the table\b|\bhands off\b",
    r"\bnot (?:an|really an) option\b|\b(?:is|are) no option\b|\bnot up for (?:debate|discussion)\b",
    rf"\b(?:needs?|has|have|ought|got) {NEED}to\b(?! \d)",
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
    r"\b(?:we|i)(?: are|'re| am|'m) not going to (?:be )?(?!able\b)",
    (
        r"\b(?:we|you|i|they) (?:really |also |simply |absolutely )?(?:cannot|can't|can not|won't|will not"
        r"|couldn't) (?:(?:just|simply|possibly|ever|also|really|only|even|and will not|and won't"
        r"|go on) )*(?:afford|change|chang|take|lose|upgrade|downgrade|touch|break|modify|migrate|move|switch"
        r"|patch|edit|fork"
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
        r"\b(?:is|are) (?:not|no longer|no) (?:possible(?! anyway)|an option|option|acceptable|feasible|allowed"
        r"|permitted"
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
    r"^(?:all|each|every|both) (?:[\w-]+ ){1,3}needs? (?!(?:to|about|around|up to|at least)?\b ?\d)",
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
_PART = (
    r"(?:scope|ticket|task|issue|work|change|project|story|pr|request|stage|phase|step|release|matter|topic|rfc|team"
    r"|discussion|schedule|document|contract|order|job)"
)
NEEDLESS = any_of(
    r"\bno need (?:to|for)\b|\bout of scope\b|\bnon-?goal\b|\bnot a goal\b|\bcan wait\b|\bleave [\w ]{1,40} for "
    r"|\b(?:is|are) (?:left out|excluded|exempt)\b",
    r"\b(?:is|are) not (?:needed|required|necessary|wanted|important)\b|\bno longer (?:needed|required)\b",
    r"\b(?:do|does|needs?) not (?:need|have) to\b|\b(?:don't|doesn't) (?:need|have) to\b|\bneedn't\b|\bneed not\b"
    r"|\b(?:don't|doesn't|do not|does not) (?:care|need|require|want) |\b(?:does not|doesn't) matter\b",
    r"\b(?:can|may) be (?:ignored|skipped|left out|dropped)\b",
    rf"\bnot (?:a )?(?:part|subject|object|in) (?:of )?(?:the |this |our |that )?(?:[\w'-]+ )?{_PART}\b"
    rf"|\b(?:not|no) (?:a )?(?:part|subject) of (?:(?:the |this ){_PART}|this|it)\b",
    rf"\b(?:is|are|in|has|have|gets?|follows?|belongs? (?:in|to)|needs?|deserves?|for|on) (?:a |an |its |their |some )?"
    rf"(?:own|separate|different|another|later|other)(?: \w+)? {_PART}\b",
    r"\b(?:handled|done|covered|comes?|tracked|follows?|looked at|dealt with|treated|planned|discussed) (?:in a "
    r"|in another |in the (?:next|second|later)|separately|elsewhere|later|next)\b",
    r"(?:^|[,;] |\b(?:and|but) )(?:i'm |we're |i am |we are |am |are )?not (?:asking|trying|looking|proposing|planning"
    r"|suggesting|aiming) (?:for|to|any|a|an|the)\b",
    r"\b(?:do not|don't|dont|never) (?:bother|worry|think|care) (?:with|about)\b",
    r"\bnot (?:(?:your|our|my|their|his|her|[\w-]+'s) (?:job|task|business|concern|problem|department|topic)"
    r"|(?:ours|yours|mine|theirs))\b",
    r"\b(?:will not|won't) be (?:(?!renewed|needed)\w+ed|done|built|part|rewritten|shown|dealt)\b"
    r"|\b(?:is|are) not (?:handled|included|covered|considered|planned|addressed|translated|backported|reimbursed"
    r"|replaced|migrated|touched|looked at|dealt with)\b",
    r"\b(?:is|are|gets?|stays?|remains?) left (?:to the |to our |to their |for (?!the\b))",
    r"\b(?:but|just) not (?:here|now|yet|today|this time|in this)\b|: not (?:now|yet|here|this time)\b"
    r"|\bphase (?:2|3|two|three|ii)\b|\b(?:stays?|remains?|left) out of (?:it|this)\b",
)
"""What is left out, or left to others."""
STAYS = any_of(
    (
        r"\b(?:stays?|remains?) (?:exactly )?(?:as (?:it|they) (?:is|are|does|do)|untouched|intact|(?:fully "
        r"|backwards?.?)?compatible|in (?:place|use|force|operation|service)|where (?:it|they) (?:is|are)|alone"
        r"|off limits|out of (?:it|this)"
        r"|mandatory|supported)\b"
    ),
    r"\b(?:is|are) (?:left|kept) (?:as (?:it|they)|untouched|alone|unchanged)\b",
    r"\b(?:is|are) unchanged(?! (?:since|after|so far|even)\b)",
    r"\b(?:stays|remains) (?:exactly the same|identical)\b|\b(?:stays?|remains?)[.!]*$",
    r"\b(?:stay|remain) (?:exactly )?(?:unchanged|the same|identical|available|valid|green|stable)\b",
)
NO_NOUN = any_of(
    (
        r"^(?:(?:absolutely|also|and|but|plus|definitely|ideally|please|pls|then|so|oh|just),? )*(?:no|zero"
        r"|not a single|nothing"
        r"|without) (?!(?:error|errors|idea|clue|luck|response|output|result|results|logs?|stack|stacktrace"
        r"|traceback|exceptions?|warnings?|messages?|problem|problems|answer|reply|effect|success|difference"
        r"|rush|worries|hurry|update|updates|one|way|matter|wonder|doubt|crash|crashes|thanks|need|longer|news"
        r"|trace|sign|entry|entries|indication|feedback|reaction|further (?:information|details|logs|output)"
        r"|other (?:errors|logs|information)|proxy|plugins?|changes? (?:were|was|in|to the config))\b)"
    ),
)
ONLY = late(
    r"^(?:only|exclusively|solely) (?!(?:happens?|affects?|occurs?|seen|when|if|shows?|appears?|after"
    r"|since|on|in|with|for|the (?:first|last)|one of|some|a few|sometimes|reproducible|fails|workaround"
    r"|a restart|restarting|then|now|reproduces|works|crashes|visible)\b)"
)
BY_DATE = late(
    r"^(?!.*\byou can\b)(?!.*\b(?:is|are) (?:an? |open|valid|closed|available|free|away|out|on)\b).*"
    r"\b(?:by|before|until|no later than|from(?= \d+\b(?!\d{3}))|starting|not before|not until|as of) " + DATE
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
REQUIRES = late(r"^(?!please\b).*\b(?:should|must|shall|needs?|wants?|has to|have to)\b")
"""A sentence that says with a modal verb what something does."""
KEEPS_ON = late(r"\b(?:keeps?|stays?|remains?)\b")
"""A note about what is to stay."""
AT_MOST = late(r"\d.*\b(?:at most|max(?:imum)?|tops|at least|or less|or more)[.!]?$")
RESTRICTS = any_of(
    rf"(?:^|[,;:] |\b(?:and|but|so|also|please) )(?:also |and |but )?{_NOBODY}\b[^,;:.?]{{0,90}}? "
    r"(?:may|must|shall|should|is (?:allowed|permitted|supposed) to|are (?:allowed|permitted|supposed) to|gets? to)\b"
    r"(?! (?:have|be (?:because|due|related)|know)\b)",
    rf"\bmay (?:[\w'-]+ ){{1,5}}?{_LIMITS}\b",
    r"\bmay (?:[\w'-]+ ){1,5}?(?:if|when|while|during|outside|after|before|between|by|with the|without) "
    r"(?=.*\b(?:only|approval|approved|consent|permission)\b)",
    r"^(?:only|just|exclusively|solely) [^,;:.]{1,90} (?:is|are) (?:in scope|in\b.{0,12} scope|included|eligible"
    r"|meant|concerned|allowed|to be)\b",
    r"\b(?:is|are) (?:also |all |explicitly |therefore )?(?:exempt(?:ed)?|excluded|excepted|not included"
    r"|left out)\b|\bs are out[.!]*$",
    r"\b(?:is|are|would be) (?:absolutely |simply |completely |totally |really )?(?:unacceptable|intolerable"
    r"|taboo|a must"
    r"|not tolerable)\b",
    r"\b(?:cannot|can't|can not|may not) (?:take|last|be|cost|need|use|run|get|grow) (?:any |much )?(?:longer"
    r"|more|bigger"
    r"|slower|larger|higher|worse|older|later) than\b",
    r"\bmay [^,;:.?]{1,60}, (?:but )?(?:not|no|never) (?:more|longer|later|less|earlier|faster|again)\b",
    r"(?:^|[,;] |\b(?:and|but|please) )leave [^,;:.?]{1,60} (?:alone|as is|as (?:it|they) (?:is|are)"
    r"|untouched|out)\b",
)
"""What restricts wherever it stands: a permission with a limit, a prohibition with its subject, an exemption."""
LIMITS = any_of(
    r"^(?:we|you|i) (?:only |still )?(?:have|get|can spend|may spend|can use) (?:about |around |only |up to "
    r"|another )?"
    r"[$€£]?\d[\d.,]*k? ?(?:€|euros?|eur|usd|dollars?|chf|pounds?|hours|days|weeks|months)\b(?! (?:a|per|ago|of)\b)",
    r"^(?:only|just) (?!(?:happens?|works?|fails?)\b).*\bfor (?:now|the moment|a start|starters"
    r"|the time being)[.!]*$",
    r"\b(?:is|are|stays?|remains?) (?:strictly |hard[- ]|to be )?(?:limited|restricted|confined|capped|bounded)"
    r" (?:to|at|by) ",
    rf"^(?:each|every|any|all|both|either|no|one|per) [^,;:.?]{{1,80}} {_LIMITS} {_NUMBER}",
    r"\b(?:exactly|at most|only) once\b",
    r"\b(?:maintenance|time|change|deployment|deploy|cutover|downtime|migration|release|service) windows? (?:is|are"
    rf"|will be|runs|starts|opens) (?:from |on |at |only |between )?(?:{_NUMBER}|{DATE})",
    r"\b(?:quota|cap|ceiling|upper limit|upper bound|hard limit|allowance|tolerance|target|maximum|minimum|retention)"
    rf"(?: [\w -]{{1,40}})? (?:is|are|will be) (?:set to |at |about )?{_NUMBER}",
)
"""A statement whose form is that of a limit: it asks where the text tells what is wanted."""
DATES = any_of(
    r"^(?:and |also )?(?:the |our |a |hard |target |planned |expected )*(?:eta|etc|due|due date|deadline"
    r"|target|target date"
    r"|go-?live(?: date)?|launch(?: date| day)?|release(?: date| day)?|kick-?off|cut-?over|cut off|cutoff|delivery"
    r"|delivery date|hand-?over|roll-?out|freeze|code freeze|feature freeze|due time|end date|start date|start"
    r"|sunset|shutdown|switch-?over|end of support)"
    r"(?: of [\w ]{1,40}| for [\w ]{1,40})?"
    r"(?:,? |: ?| - |=)(?:is |will be |= ?)?(?:set |planned |scheduled |fixed )?(?:for |on |in |by |at |to )?" + DATE,
    rf"\b(?:goes|go|going|must go|has to go) live (?:on|in|at|by|before|this|next) ?{DATE}",
    rf"^we (?:ship|launch|release|freeze|deploy|go live|open|close|move) (?:on|in|by|before|at) {DATE}",
    rf"^(?:the )?(?:submission|registration|tender|call|vote|ballot|review) (?:closes|ends|is due) (?:on|at"
    rf"|in) {DATE}",
    r"^(?:but |and )?not before\b",
    rf"\b(?:first|last|final|opening|launch|posting|hand-?over|hand-?in|delivery) (?:[\w'-]+ ){{0,5}}?(?:is|are"
    rf"|would be"
    rf"|will be|falls) (?:the one |due )?(?:of |on |in |at )?{DATE}",
    rf"\b(?:picks? up|collects?|goes? (?:to|out)) [^,;]{{0,50}}\bon {DATE}",
    r"^(?:ready|done|live|finished|online|running) for |\b(?:ready|done|live|finished|online|running|in place)"
    r" (?:by|before|in time for) (?!the way|hand)"
    r"|^(?:before|in time for|ahead of) (?:the |our |next |my )?[\w'-]+(?: [\w'-]+){0,4}[.!]*$",
    rf"\b(?:ships|launches|goes out|is released|are released|is launched) (?:on|in|by|before) {DATE}",
)
"""A date by which something is to be done, in the words of a plan."""
REQUESTS = any_of(
    r"^(?:[\w ]{1,20}, )?(?:(?:hey|hi|hello|ok|okay|so|and|also|team|folks|all|guys|then),? )*(?:can|could|would"
    r"|will) (?:you|u"
    r"|ya|someone"
    r"|somebody|anyone|anybody|we (?:please |pls |also |maybe |just )?(?:get|have|add|make|change|fix|move|use"
    r"|drop))\b",
    r"\b(?:wanna|gotta|gonna need)\b|^(?:would|'d) (?:really |also )?(?:love|like|prefer) to\b",
    r"\b(?:i'm|i am|we're|we are) (?:really |just )?(?:after|hoping for|in need of)\b",
    r"^any chance (?:of|to|you|we|that|for)\b",
    r"(?:^|^(?:got|have|i|we)\b[^,;:]* and |\bso )(?:also |still |i |we )*(?:needs?|want|looking for)"
    r" (?!to (?:know|see|say|ask)\b|you|what)[a-z\d\"]",
    r"^(?:starting |beginning )?(?:from now on|from (?:the )?(?:next|this) \w+ on|in (?:the )?future|henceforth),? ",
    r"^we (?:keep|leave) [^,;:.?]{1,80} until\b",
    r"\b(?:is|are) (?:our|the|my) (?:goal|target|aim|limit|maximum|minimum)\b[.!]*$",
)
"""A request as it is spoken, without a sign of a question."""
CONTINUES = any_of(
    r"^(?!.*\b(?:but|although|yet|error|so far|still|fine)\b).*\b(?:keeps?|continues?) (?:on )?(?:to (?:work"
    r"|function|be|run"
    r"|respond|return|accept|have|see|exist|receive|get|sell|be)|(?:in|as|under|through|until|unchanged|by) |working"
    r"|functioning|running|responding)\b",
    r"^(?!.*\b(?:but|although|when|if|after|even)\b).* (?:do|does)(?: not|n't) change(?: (?:for|in"
    r"|at all)\b.*)?[.!]*$",
)
"""What goes on as it is."""
AS_BEFORE = late(
    r"^(?!.*\b(?:still|crash\w*|fail\w*|slow\w*|broken|wrong|errors?|bugs?|problems?|same issue|occurs?|happens?)\b)"
    r".*\bas (?:it (?:is|does|was) )?(?:today|before|now|until now|up to now|it is|they are)[.!]*$"
)
"""A statement of how something stays."""

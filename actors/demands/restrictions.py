"""Patterns of English wordings that restrict or date something without a modal verb of their own, in lower case."""

import re

from actors.demands.dates import DATE
from actors.demands.words import any_of

_NUMBER = (
    r"(?:[$€£]? ?\d|\b(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|half|zero|once|twice|\w+teen"
    r"|\w+ty)\b)"
)
_LIMITS = (
    r"(?:at (?:the )?most|at least|exactly|precisely|no more than|not more than|no less than|only|up to"
    r"|never more than)"
)
_NOBODY = r"(?:no|nothing|nobody|no one|no-one|none|neither|not (?:a|one)(?: single)?)"

RESTRICTS = any_of(
    rf"(?:^|[,;:] |\b(?:and|but|so|also|please) )(?:also |and |but )?{_NOBODY}\b[^,;:.?]{{0,90}}? "
    r"(?:may|must|shall|should|is (?:allowed|permitted|supposed) to|are (?:allowed|permitted|supposed) to|gets? to)\b"
    r"(?! (?:have|be (?:because|due|related)|know)\b)",
    rf"\bmay (?:[\w'-]+ ){{1,5}}?{_LIMITS}\b",
    r"\bmay (?:[\w'-]+ ){1,5}?(?:if|when|while|during|outside|after|before|between|by|with the|without) "
    r"(?=.*\b(?:only|approval|approved|consent|permission)\b)",
    r"^(?:only|just|exclusively|solely) [^,;:.]{1,90} (?:is|are) (?:in scope|in\b.{0,12} scope|included|eligible"
    r"|meant|concerned|allowed|to be)\b",
    r"\b(?:is|are) (?:also |all |explicitly |therefore )?(?:exempt(?:ed)?|excluded|excepted|not included|left out)\b",
    r"\b(?:is|are|would be) (?:absolutely |simply |completely |totally |really )?(?:unacceptable|intolerable"
    r"|taboo|a must"
    r"|not tolerable)\b",
    r"\b(?:cannot|can't|can not|may not) (?:take|last|be|cost|need|use|run|get|grow) (?:any |much )?(?:longer"
    r"|more|bigger"
    r"|slower|larger|higher|worse|older|later) than\b",
    r"\bmay [^,;:.?]{1,60}, (?:but )?(?:not|no|never) (?:more|longer|later|less|earlier|faster|again)\b",
    r"(?:^|[,;] |\b(?:and|but|please) )leave [^,;:.?]{1,60} (?:alone|as is|as (?:it|they) (?:is|are)|untouched|out)\b",
)
"""What restricts wherever it stands: a permission with a limit, a prohibition with its subject, an exemption."""
LIMITS = any_of(
    r"^(?:we|you|i) (?:only |still )?(?:have|get|can spend|may spend|can use) (?:about |around |only |up to |another )?"
    r"[$€£]?\d[\d.,]*k? ?(?:€|euros?|eur|usd|dollars?|chf|pounds?|hours|days|weeks|months)\b(?! (?:a|per|ago)\b)",
    r"^(?:only|just) (?!(?:happens?|works?|fails?)\b).*\bfor (?:now|the moment|a start|starters|the time being)[.!]*$",
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
    rf"\b(?:ships|launches|goes out|is released|are released|is launched) (?:on|in|by|before) {DATE}",
)
"""A date by which something is to be done, in the words of a plan."""
REQUESTS = any_of(
    r"^(?:(?:hey|hi|hello|ok|okay|so|and|also|team|folks|all|guys|then),? )*(?:can|could|would|will) (?:you|u"
    r"|ya|someone"
    r"|somebody|anyone|anybody|we (?:please |pls |also |maybe |just )?(?:get|have|add|make|change|fix|move|use"
    r"|drop))\b",
    r"\b(?:wanna|gotta|gonna need)\b|^(?:would|'d) (?:really |also )?(?:love|like|prefer) to\b",
    r"\b(?:i'm|i am|we're|we are) (?:really |just )?(?:after|hoping for|in need of)\b",
    r"^any chance (?:of|to|you|we|that|for)\b",
)
"""A request as it is spoken, without a sign of a question."""
CONTINUES = any_of(
    r"^(?!.*\b(?:but|although|yet|error|so far|still|fine)\b).*\b(?:keeps?|continues?) (?:on )?(?:to (?:work"
    r"|function|be|run"
    r"|respond|return|accept|have|see|exist)|working|functioning|running|responding)\b",
    r"^(?!.*\b(?:but|although|when|if|after|even)\b).* (?:do|does)(?: not|n't) change(?: (?:for|in|at all)\b.*)?[.!]*$",
)
"""What goes on as it is."""
AS_BEFORE = re.compile(
    r"^(?!.*\b(?:still|crash\w*|fail\w*|slow\w*|broken|wrong|errors?|bugs?|problems?|same issue|occurs?|happens?)\b)"
    r".*\bas (?:it (?:is|does|was) )?(?:today|before|now|until now|up to now|it is|they are)[.!]*$"
)
"""A statement of how something stays."""
RULES = re.compile(
    r"^(?!no (?:idea|clue|one of|wonder|doubt|errors?|warnings?|logs?)\b)"
    r"(?:nobody|no one|nothing|no [\w-]+(?: [\w-]+)?) (?!knows|reads|uses|understands|minds|notic|cares|has|is"
    r"|was|seems"
    r"|happens|works|complains|looks|likes|helps|appears|shows|exists)\w+s\b"
)
"""A rule in the words of a statement, after a sentence that asks for something: "nobody deploys on fridays"."""

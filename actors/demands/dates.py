"""How a date or the end of a period is written in English."""

_DAYS = r"(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?"
_MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b"
)
DATE = (
    r"(?:the |this |next |coming |early |late |mid[- ]?|mid |our |its )*(?:"
    rf"end of (?:the |this |next |business |our )?(?:\w+)|{_DAYS}\b|weekend|{_MONTHS}(?: \d{{1,2}})?"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTHS}"
    r"|\d{1,2}(?:st|nd|rd|th)\b|tomorrow|tonight|today|noon|midnight|week|month|quarter|year|sprint|release|launch"
    r"|audit|conference"
    r"|demo|holidays?|go-?live|freeze|fair|sale|season|certification|migration window"
    r"|summer|winter|spring|autumn|school year|board meeting|deadline|cutover|cut-over|review|christmas"
    r"|easter|black friday|new year|code freeze|year.?s? end|year-end|q[1-4]\b|eod\b|eob\b|cob\b|eow\b|eom\b"
    r"|20\d\d\b(?:-\d\d(?:-\d\d)?)?|\d{1,2}\.\d{1,2}\.(?:\d{2,4})?|\d{1,2}/\d{1,2}(?:/\d{2,4})?|\d{1,2}:\d\d"
    r"|\d{1,2} ?(?:am|pm)\b)"
)
"""A pattern for lower-case text: a day, a date, or the end of a period, after a word such as `by`."""
